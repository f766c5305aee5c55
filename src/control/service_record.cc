// What the loop and the engine ask of the service, and how records are kept.
#include <algorithm>
#include <utility>

#include "control/seen_needs.h"
#include "control/service_inside.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

core::UnixMillis Service::Impl::Wall() const {
  return wall_at_zero + static_cast<core::UnixMillis>(runner.Now().value * 1e3);
}

Service::Impl::Live* Service::Impl::Find(std::int64_t number) {
  const auto found = live.find(number);
  return found == live.end() ? nullptr : &found->second;
}

Service::Impl::Live* Service::Impl::Find(core::JobId id) {
  if (id.index() >= number_of.size()) return nullptr;
  Live* job = Find(number_of[id.index()]);
  return job != nullptr && job->id == id ? job : nullptr;
}

const Service::Impl::Live* Service::Impl::Find(core::JobId id) const {
  return const_cast<Impl*>(this)->Find(id);
}

std::string Service::Impl::NameOf(core::JobId id) const {
  const Live* job = id.valid() ? Find(id) : nullptr;
  return job == nullptr ? std::string() : "job " + std::to_string(job->record.number);
}

core::Estimate Service::Impl::Believe(const core::Job& job) const {
  const Live* found = Find(job.id);  // held or cancelled before it was ever looked at: none
  return advisor.EstimateOf(found == nullptr ? JobRecord{} : found->record);
}

core::Estimate Service::Impl::Measured(const core::Job& job) const {
  auto* self = const_cast<Impl*>(this);  // the loop asks; the answer is a better belief
  Live* found = self->Find(job.id);
  if (found == nullptr) return advisor.EstimateOf({});
  if (sight != nullptr) {
    JobRecord& record = found->record;
    record.believed =
        SeenNeeds(record.believed, sight->Seen(record.number), record.cores, record.asked.gpus);
    self->Touch(*found);
  }
  return advisor.EstimateOf(found->record);
}

engine::RunRequest Service::Impl::RequestOf(core::JobId id) const {
  engine::RunRequest request;
  if (const Live* job = Find(id); job != nullptr) {
    request.id = {job->record.number, job->record.attempt};
    request.user = job->record.user;
    request.asked = job->record.asked;
  }
  return request;
}

std::optional<double> Service::Impl::StepsAlone(core::JobId id) const {
  if (const auto alone = guard.PaceOf(id).alone) return alone;
  const Live* job = Find(id);
  return job == nullptr ? std::nullopt : StepsByProfile(*job);
}

std::optional<double> Service::Impl::StepsByProfile(const Live& job) {
  // A rate that was measured or predicted on another GPU model says little about this one.
  const auto& profile = job.record.believed.profile;
  const auto& given = job.record.gpus;
  return given.empty() || given.front().model == profile.gpu ? profile.steps_per_second
                                                             : std::nullopt;
}

core::Ratio Service::Impl::RateAlone(core::JobId id) const {
  const core::JobView& job = snapshot.job(id);
  if (job.allocation.gpus.empty() || job.estimate.on.empty()) return 1;
  return job.estimate.On(cluster.ModelOf(job.allocation.gpus.front())).rate;
}

void Service::Impl::OnDecision(core::Seconds took) {
  ++decided;
  heard = runner.Now() - took;
}

std::vector<std::int64_t> Service::Impl::Beside(const std::vector<core::GpuId>& on,
                                                core::JobId but) const {
  std::set<std::int64_t> numbers;
  for (const core::GpuId gpu : on) {
    for (const core::JobId other : snapshot.residents(gpu).jobs()) {
      const Live* job = other == but ? nullptr : Find(other);
      if (job != nullptr) numbers.insert(job->record.number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

std::string Service::Impl::Unusable() const {
  std::string words;
  for (const GpuView& gpu : gpus) {
    if (gpu.drained) words += fmt::format("; GPU {} is drained", gpu.gpu.index);
    if (!gpu.problem.empty()) words += fmt::format("; GPU {}: {}", gpu.gpu.index, gpu.problem);
  }
  return words;
}

// Stored before the engine is told. On failure nothing here has changed.
core::Result<void> Service::Impl::OnPlan(const core::Snapshot&, const core::Plan& plan) {
  store::JobChanges changes;
  std::vector<const char*> told;  // the events' kinds, in the records' order
  const auto change = [&](core::JobId id, const core::Reason& reason,
                          const char* kind) -> JobRecord* {
    const Live* job = Find(id);
    if (job == nullptr) return nullptr;  // what keeps a GPU from being used
    told.push_back(kind);
    changes.jobs.push_back(job->record);
    changes.jobs.back().reason = core::InWords(reason, NameOf(reason.job));
    return &changes.jobs.back();
  };
  const auto put = [&](JobRecord& record, core::JobId id, const core::Allocation& to) {
    record.phase = Phase::kStarting;
    ++record.attempt;
    record.gpus.clear();
    for (const core::GpuId gpu : to.gpus) record.gpus.push_back(gpus[gpu.index()].gpu);
    record.cores = to.cores;
    record.beside = Beside(to.gpus, id);
    record.resumed.reset();
  };
  for (const auto& back : plan.stops) {
    if (JobRecord* record = change(back.job, back.reason, "job.stopped")) {
      record->phase = Phase::kStopping;
      record->reason += "; it goes back into the queue";
    }
  }
  for (const auto& move : plan.moves) {
    JobRecord* record = change(move.job, move.reason, "job.moved");
    if (record != nullptr) put(*record, move.job, move.to);
  }
  for (const auto& resize : plan.resizes) {
    JobRecord* record = change(resize.job, resize.reason, "job.resized");
    if (record != nullptr) record->cores = resize.cores;
  }
  for (const auto& start : plan.starts) {
    JobRecord* record = change(start.job, start.reason, "job.placed");
    if (record != nullptr) put(*record, start.job, start.to);
  }
  for (const core::JobId id : plan.infeasible) {
    const core::Reason never{core::ReasonKind::kInfeasible, {}, 0, 0};
    if (JobRecord* record = change(id, never, "job.failed")) {
      record->phase = Phase::kFailed;
      record->note = "it could never run here: " + record->reason;
      record->ended = Wall();
    }
  }
  for (std::size_t i = 0; i < changes.jobs.size(); ++i) {
    const JobRecord& record = changes.jobs[i];
    std::string place;
    for (const auto& gpu : record.gpus) place += fmt::format(" GPU {}", gpu.index);
    changes.events.push_back({next_event + static_cast<std::int64_t>(i), Wall(), told[i],
                              record.number,
                              fmt::format("job {}:{}{} {}", record.number, place,
                                          place.empty() ? "" : ":", record.reason)});
  }
  if (!changes.jobs.empty()) {
    if (auto kept = Commit(std::move(changes)); !kept) return kept;
  }
  // Why somebody waits is found out anew after a restart; it is shown, not stored.
  for (const auto& wait : plan.waits) {
    if (Live* job = Find(wait.job)) {
      job->record.reason = core::InWords(wait.reason, NameOf(wait.reason.job)) + Unusable();
      board.Put(job->record);
    }
  }
  return {};
}

core::Job Service::Impl::JobOf(const JobRecord& record, core::JobId id) {
  core::Job job;
  job.id = id;
  job.name = std::to_string(record.number);
  job.user = users.try_emplace(record.user.name, core::UserId(users.size())).first->second;
  job.workload = advisor.WorkloadOf(record.asked);
  job.gpus = record.asked.gpus;
  job.cores = record.asked.cores;
  for (std::size_t i = 0; i < cluster.models().size(); ++i) {
    const auto& wanted = record.asked.gpu_models;
    if (std::find(wanted.begin(), wanted.end(), cluster.models()[i].name) != wanted.end()) {
      job.allowed_models.emplace_back(i);
    }
  }
  // Out of memory, or twice beside others it could not bear: alone from now on.
  job.exclusive = record.asked.exclusive || record.ooms > 0 || record.parted >= kPartedAlone;
  job.priority = record.asked.priority;
  job.max_slowdown = record.asked.max_slowdown;
  job.submit = core::Seconds(static_cast<double>(record.submitted - wall_at_zero) / 1e3);
  return job;
}

void Service::Impl::Enqueue(std::int64_t number) { enqueued.push_back(number); }

void Service::Impl::SubmitEnqueued() {
  for (const std::int64_t number : std::exchange(enqueued, {})) {
    Live* job = Find(number);
    if (job == nullptr || job->record.phase != Phase::kWaiting) continue;  // cancelled meanwhile
    job->id = core::JobId(number_of.size());
    number_of.push_back(number);
    engine.Submit(JobOf(job->record, job->id));
  }
}

void Service::Impl::Touch(Live& job) {
  dirty.insert(job.record.number);
  board.Put(job.record);
}

void Service::Impl::Say(const char* kind, std::int64_t job, std::string text) {
  const std::int64_t id = next_event + static_cast<std::int64_t>(owed.events.size());
  owed.events.push_back({id, Wall(), kind, job, std::move(text)});
}

// `extra.events` are numbered from next_event, as if nothing were owed; those that are owed come
// first, as they happened first.
core::Result<void> Service::Impl::Commit(store::JobChanges extra) {
  store::JobChanges all = owed;
  const auto before = static_cast<std::int64_t>(all.events.size());
  for (const std::int64_t number : dirty) {
    const bool newer = std::any_of(extra.jobs.begin(), extra.jobs.end(),
                                   [&](const JobRecord& r) { return r.number == number; });
    const Live* job = Find(number);
    if (!newer && job != nullptr) all.jobs.push_back(job->record);
  }
  for (core::Event& event : extra.events) {
    event.id += before;
    all.events.push_back(event);
  }
  all.jobs.insert(all.jobs.end(), extra.jobs.begin(), extra.jobs.end());
  all.shared.insert(all.shared.end(), extra.shared.begin(), extra.shared.end());
  all.kept.insert(all.kept.end(), extra.kept.begin(), extra.kept.end());
  if (all.jobs.empty() && all.events.empty() && all.shared.empty() && all.kept.empty()) {
    ForgetEnded();  // what is left of jobs that were over before this server came
    return {};
  }

  if (auto written = jobs.Write(all); !written) {
    if (store_problem.empty() && options.say) {
      options.say("nothing can be stored, so nothing new is started: " + written.error().message);
    }
    store_problem = written.error().message;
    return written;
  }
  if (!store_problem.empty() && options.say) options.say("the store can be written again");
  store_problem.clear();
  owed = {};
  dirty.clear();
  next_event += static_cast<std::int64_t>(all.events.size());
  for (JobRecord& record : extra.jobs) {
    board.Put(record);
    if (Live* job = Find(record.number)) job->record = std::move(record);
  }
  for (const JobRecord& record : all.jobs) {
    if (core::IsOver(record.phase)) Over(record.number);
  }
  for (core::Event& event : all.events) hub.Publish(std::move(event));
  ForgetEnded();
  return {};
}

void Service::Impl::ForgetEnded() {
  for (const engine::RunId& run : std::exchange(ended, {})) runner.Forget(run);
}

void Service::Impl::Over(std::int64_t number) {
  Live* job = Find(number);
  if (job == nullptr) return;
  Count(job->record, false);
  const Phase how = job->record.phase;
  live.erase(number);
  ReleaseDependents(number, how);
}

}  // namespace sharewell::control
