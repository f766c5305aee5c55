#include "control/service/jobs/job_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

constexpr core::Seconds kHoursLast(1), kLookAtHours(30);

}  // namespace

engine::RunRequest RequestOf(const JobRecord& record) {
  engine::RunRequest request;
  request.id = {record.number, record.attempt};
  request.user = record.user;
  request.asked = record.asked;
  request.guest_oom = record.guest_oom;
  return request;
}

JobQueue::JobQueue(const Parts& parts)
    : parts_(parts), room_(parts.limits, parts.state.live, [this](const std::string& user) {
        return HoursUsed(user);
      }) {}

// A gate asks of each job that waits.
double JobQueue::HoursUsed(const std::string& user) {
  const core::Seconds now = parts_.journal.Now();
  const auto known = hours_.find(user);
  if (known != hours_.end() && now - known->second.first < kHoursLast) return known->second.second;
  const double used =
      GpuHoursOfWeek(parts_.state.week, parts_.state.board, user, parts_.journal.Wall());
  hours_[user] = {now, used};
  return used;
}

std::optional<core::Seconds> JobQueue::KeepToHours() {
  const core::Seconds now = parts_.journal.Now();
  const auto again = [&]() -> std::optional<core::Seconds> {
    if (!limited_) return std::nullopt;
    return *looked_ + kLookAtHours - now;
  };
  if (looked_ && now - *looked_ < kLookAtHours) return again();
  looked_ = now;
  hours_.clear();
  limited_ = false;
  std::map<std::string, bool> has_none;  // by user
  for (const JobPtr& shown : parts_.state.board.Live()) {
    if (shown->asked.gpus == 0) continue;
    const std::string& user = shown->user.name;
    const auto [known, fresh] = has_none.try_emplace(user, false);
    if (fresh) {
      const double most = parts_.limits(shown->user).gpu_hours_a_week;
      limited_ = limited_ || !core::IsNoLimit(most);
      known->second = !core::IsNoLimit(most) && HoursUsed(user) >= most;
    }
    LiveJob* job = known->second ? parts_.state.live.Find(shown->number) : nullptr;
    // A paused one goes on when it is let: its process is there.
    if (job == nullptr || !job->id.valid() || job->record.phase != Phase::kWaiting ||
        job->record.paused) {
      continue;
    }
    parts_.engine.Withdraw(parts_.state.live.TakeId(*job));
    Enqueue(job->record.number);
  }
  return again();
}

void JobQueue::EnqueueIfItFits(LiveJob& job) {
  if (auto fits = parts_.advisor.Check(job.record.user, job.record.asked); !fits) {
    core::SetHold(job.record, core::hold::MachineChanged{fits.error().message});
    job.record.asked.held = true;
    return parts_.journal.Touch(job);
  }
  Enqueue(job.record.number);
}

void JobQueue::TakeOut(LiveJob& job) {
  if (job.id.valid()) parts_.engine.Withdraw(parts_.state.live.TakeId(job));
  room_.Leave(job.record.number);
}

void JobQueue::ForgetInfeasible(const std::vector<core::JobId>& jobs) {
  for (const core::JobId id : jobs) {
    LiveJob* job = parts_.state.live.Find(id);
    if (job == nullptr) continue;
    parts_.state.live.TakeId(*job);
    room_.Leave(job->record.number);
  }
}

bool JobQueue::SubmitEnqueued() {
  bool any = false;
  for (const std::int64_t number : room_.TakeNext()) {
    LiveJob* job = parts_.state.live.Find(number);
    // Cancelled meanwhile, or let go twice: by its user and by the end of the job it came after.
    if (job == nullptr || job->record.phase != Phase::kWaiting || job->id.valid()) continue;
    if (!job->terms.waits_for.empty()) {  // it is queued when that is over
      job->record.reason = job->terms.waits_for;
      parts_.state.board.Put(job->record);
      continue;
    }
    if (std::string why = room_.Ask(job->record); !why.empty()) {
      job->record.reason = std::move(why);
      parts_.state.board.Put(job->record);
      continue;
    }
    engine::RunRequest request = RequestOf(job->record);
    request.id.attempt = job->attempts();
    NoteAlone(*job);
    parts_.engine.Submit(NextJob(*job), std::move(request));
    any = true;
  }
  return any;
}

void JobQueue::QueueKindAnew(const JobRecord& kind) {
  for (const JobPtr& shown : parts_.state.board.Live()) {
    LiveJob* job = parts_.state.live.Find(shown->number);
    // A paused one is alone as it is, and keeps its process.
    if (job == nullptr || shown->number == kind.number || !job->id.valid() ||
        job->record.phase != Phase::kWaiting || job->record.paused ||
        !AreOfOneKind(job->record, kind)) {
      continue;
    }
    parts_.engine.Withdraw(parts_.state.live.TakeId(*job));
    EnqueueIfItFits(*job);
  }
}

void JobQueue::NoteAlone(LiveJob& job) {
  JobRecord& record = job.record;
  const auto broken_by = parts_.state.breakers.BrokenBy(record);
  // Another note says more of it.
  if (broken_by ? !record.note.empty() : !job.noted_alone) return;
  job.noted_alone = broken_by.has_value();
  record.note = broken_by ? fmt::format(
                                "it is started alone: job {}, of the same command, broke its GPU "
                                "under its neighbours, and none has finished well since",
                                *broken_by)
                          : std::string();
  parts_.journal.Touch(job);
}

// Nodes that were down when the server came join one by one: what was too large for those that were
// there may fit now. Nobody else would let it go.
void JobQueue::TryHeldAgain() {
  if (parts_.manager == nullptr) return;
  for (const JobPtr& shown : parts_.state.board.Live()) {
    const bool too_large =
        shown->hold && (std::holds_alternative<core::hold::NoNodes>(*shown->hold) ||
                        std::holds_alternative<core::hold::MachineChanged>(*shown->hold));
    LiveJob* job =
        shown->phase == Phase::kHeld && too_large ? parts_.state.live.Find(shown->number) : nullptr;
    if (job == nullptr || job->record.phase != Phase::kHeld) continue;
    if (!parts_.advisor.Check(job->record.user, job->record.asked)) continue;
    core::SetHold(job->record, std::nullopt);
    job->record.asked.held = false;
    parts_.journal.Touch(*job);
    Enqueue(job->record.number);
  }
}

void JobQueue::Close(std::int64_t number, Phase how) {
  LiveJobs& live = parts_.state.live;
  const LiveJob& job = *live.Find(number);
  parts_.admission.RemoveDependent(job.record);
  room_.Leave(number);
  // Somebody wanted it gone: nothing of it waits on in the queue of a manager. Nothing else that
  // is over here is a reason to take anything from there.
  const bool wanted = how == Phase::kCancelled && !job.withdrawn;
  if (parts_.manager != nullptr && wanted) parts_.manager->CancelWaiting(number);
  live.Remove(number);
  ReleaseDependents(number, how);
}

void JobQueue::ReleaseDependents(std::int64_t number, Phase how) {
  for (const std::int64_t other : parts_.admission.TakeDependents(number)) {
    LiveJob* job = parts_.state.live.Find(other);
    if (job == nullptr || job->record.phase != Phase::kHeld) continue;
    JobRecord& record = job->record;
    if (how != Phase::kFinished) {
      using End = core::cancelled::ByJobBefore::End;
      const End end = how == Phase::kFailed ? End::kFailed : End::kCancelled;
      core::EndCancelled(record, core::cancelled::ByJobBefore{number, end}, parts_.journal.Wall());
      parts_.journal.Emit("job.cancelled", other, fmt::format("job {}: {}", other, record.note));
    } else {
      core::SetHold(record, parts_.admission.HoldOf(record));
      if (record.phase == Phase::kWaiting) Enqueue(other);
    }
    parts_.journal.Touch(*job);
  }
}

std::optional<JobsAhead> JobQueue::AheadOf(std::int64_t number, std::int64_t decided) {
  const ServiceState& state = parts_.state;
  const LiveJob* job = state.live.Find(number);
  if (job == nullptr || job->record.phase != Phase::kWaiting || !job->id.valid()) {
    return std::nullopt;
  }
  return line_.AheadOf(job->id, parts_.advisor.Policy(), state.snapshot, state.live, decided);
}

core::Job JobQueue::NextJob(LiveJob& of) {
  ServiceState& state = parts_.state;
  const JobRecord& record = of.record;
  core::Job job;
  job.id = state.live.GiveId(of);
  job.name = std::to_string(record.number);
  job.user = state.live.UserIdOf(record.user.name);
  const auto account = parts_.manager != nullptr
                           ? core::ProjectNamed(parts_.projects, record.asked.project)
                           : std::optional<core::ProjectId>();
  job.project =
      account ? *account : core::ProjectOf(parts_.projects, record.user.name, record.asked.project);
  job.workload = parts_.advisor.WorkloadOf(record.user, record.asked);
  job.gpus = record.asked.gpus;
  job.cores = record.asked.cores;
  job.cores_fixed = parts_.manager != nullptr;
  job.host_memory = record.asked.memory;
  const auto& models = state.cluster.models();
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto& wanted = record.asked.gpu_models;
    if (!wanted.empty() && core::IsAllowed(wanted, models[i])) job.allowed_models.emplace_back(i);
  }
  // Out of memory: alone from now on. So is one whose process waits: it is no client of MPS.
  // One that was found running beside others stays there.
  const bool kind_broke =
      record.phase == Phase::kWaiting && state.breakers.BrokenBy(record).has_value();
  job.exclusive = record.asked.exclusive || record.ooms > 0 || record.paused || kind_broke;
  job.alone_until_known = parts_.alone_until_known && parts_.alone_until_known(record.user);
  // Whose kernels are to go first is not to wait for those of somebody unknown either.
  job.no_guests = record.asked.no_guests || record.asked.latency_sensitive;
  job.guest_oom = record.guest_oom;
  job.evicted = record.evicted;
  job.priority = record.asked.priority;
  job.max_slowdown = record.asked.max_slowdown;
  job.sm_share = record.asked.sm_share;
  job.submit = parts_.journal.wall().SteadyAt(record.submitted);
  PutTerms(of.terms, job);
  return job;
}

void JobQueue::PutTerms(const engine::StartTerms& terms, core::Job& to) const {
  if (terms.weight > 0) to.weight = terms.weight;
  if (terms.priority != 0) to.priority = terms.priority;
  to.preempts = terms.preempts;
  to.keeps_place = terms.keeps_place;
  if (terms.gpus_a_node > 0 && to.gpus % terms.gpus_a_node == 0) {
    to.gpus_a_node = terms.gpus_a_node;
  }
  const auto& nodes = parts_.state.cluster.nodes();
  for (std::size_t i = 0; to.gpus > 0 && i < nodes.size(); ++i) {
    if (std::find(terms.nodes.begin(), terms.nodes.end(), nodes[i].name) != terms.nodes.end()) {
      to.allowed_nodes.emplace_back(i);
    }
  }
}

}  // namespace sharewell::control
