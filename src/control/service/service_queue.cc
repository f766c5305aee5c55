// Into the loop's queue and out of it, and what the loop asks of the service.
#include <algorithm>
#include <utility>

#include "control/service/parts/plan_records.h"
#include "control/service/parts/wait_words.h"
#include "control/service/service_impl.h"
#include "estimate/seen_needs.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

engine::RunRequest RequestOf(const JobRecord& record) {
  engine::RunRequest request;
  request.id = {record.number, record.attempt};
  request.user = record.user;
  request.asked = record.asked;
  return request;
}

core::Estimate Service::Impl::Believe(const core::Job& job) const {
  const LiveJob* found = live.Find(job.id);  // held or cancelled before it was ever looked at: none
  return advisor.EstimateOf(found == nullptr ? JobRecord{} : found->record);
}

core::Estimate Service::Impl::Measured(const core::Job& job) {
  LiveJob* found = live.Find(job.id);
  if (found == nullptr) return advisor.EstimateOf({});
  if (monitor != nullptr) {
    JobRecord& record = found->record;
    record.believed = estimate::SeenNeeds(record.believed, monitor->Seen(record.number),
                                          record.cores, record.asked.gpus);
    outbox.Touch(*found);
  }
  core::Estimate estimate = advisor.EstimateOf(found->record);
  paces.TellPace(*found, estimate, snapshot.job(job.id).allocation.gpus);
  return estimate;
}

void Service::Impl::OnDecision(core::Seconds took) {
  ++decided;
  heard = runner.Now() - took;
}

// Stored before the engine is told. On failure nothing here has changed.
core::Result<void> Service::Impl::OnPlan(const core::Snapshot&, const core::Plan& plan) {
  store::JobChanges changes = RecordsOf(plan, snapshot, live, gpus, Wall());
  if (!changes.jobs.empty()) {
    if (auto kept = Commit(std::move(changes)); !kept) return kept;
  }
  const auto place = [&](core::JobId id, const core::Allocation& to) {
    if (const LiveJob* job = live.Find(id))
      paces.TellPace(*job, snapshot.job(id).estimate, to.gpus);
  };
  for (const auto& stop : plan.stops) {
    const LiveJob* job = stop.pause ? live.Find(stop.job) : nullptr;
    if (job != nullptr) TellGpuMemory(*job);
  }
  for (const auto& move : plan.moves) place(move.job, move.to);
  for (const auto& start : plan.starts) place(start.job, start.to);
  // Why somebody waits is found out anew after a restart; it is shown, not stored.
  for (const auto& wait : plan.waits) {
    if (LiveJob* job = live.Find(wait.job)) job->waits = wait.reason;
  }
  if (!plan.waits.empty() || !plan.starts.empty()) TellWaits(plan);
  return {};
}

// A policy says a reason once; who has what is short changes with every start.
void Service::Impl::TellWaits(const core::Plan& plan) {
  constexpr std::size_t kMostTold = 256;  // of those whose reason stands: the rest is told later
  WaitWords words(snapshot, plan, live, gpus);
  const auto tell = [&](core::JobId id) {
    LiveJob* job = live.Find(id);
    if (job == nullptr || !job->waits || job->record.phase != Phase::kWaiting) return;
    std::string reason = words.Of(*job->waits);
    const core::Submission& asked = job->record.asked;
    if (!asked.exclusive && asked.gpus == 1) {
      reason += WhyNotShared(*job->waits, cluster, not_shared);
    }
    if (reason == job->record.reason) return;
    job->record.reason = std::move(reason);
    board.Put(job->record);
  };
  for (const auto& start : plan.starts) {
    if (LiveJob* job = live.Find(start.job)) job->waits.reset();
  }
  for (const auto& wait : plan.waits) tell(wait.job);
  std::size_t told = 0;
  for (const core::JobId id : snapshot.waiting()) {
    if (++told > kMostTold) break;
    tell(id);
  }
}

core::Job Service::Impl::JobOf(const JobRecord& record, core::JobId id) {
  core::Job job;
  job.id = id;
  job.name = std::to_string(record.number);
  job.user = live.UserIdOf(record.user.name);
  job.workload = advisor.WorkloadOf(record.asked);
  job.gpus = record.asked.gpus;
  job.cores = record.asked.cores;
  job.cores_fixed = runner.HasUsers();
  job.host_memory = record.asked.memory;
  for (std::size_t i = 0; i < cluster.models().size(); ++i) {
    const auto& wanted = record.asked.gpu_models;
    if (std::find(wanted.begin(), wanted.end(), cluster.models()[i].name) != wanted.end()) {
      job.allowed_models.emplace_back(i);
    }
  }
  // Out of memory: alone from now on. So is one whose process waits: it is no client of MPS.
  job.exclusive = record.asked.exclusive || record.ooms > 0 || record.paused;
  job.evicted = record.evicted;
  job.priority = record.asked.priority;
  job.max_slowdown = record.asked.max_slowdown;
  job.sm_share = record.asked.sm_share;
  job.submit = wall.SteadyAt(record.submitted);
  return job;
}

void Service::Impl::EnqueueIfItFits(LiveJob& job) {
  if (auto fits = advisor.Check(job.record.asked); !fits) {
    job.record.phase = Phase::kHeld;
    job.record.asked.held = true;
    job.record.reason = "held, as this machine is not what it was: " + fits.error().message;
    return outbox.Touch(job);
  }
  Enqueue(job.record.number);
}

bool Service::Impl::SubmitEnqueued() {
  // Who waited for their turn goes before who comes now.
  std::vector<std::int64_t> all = gate.TakeNext();
  all.insert(all.end(), enqueued.begin(), enqueued.end());
  enqueued.clear();
  bool any = false;
  for (const std::int64_t number : all) {
    LiveJob* job = live.Find(number);
    // Cancelled meanwhile, or let go twice: by its user and by the end of the job it came after.
    if (job == nullptr || job->record.phase != Phase::kWaiting || job->id.valid()) continue;
    if (!job->terms.waits_for.empty()) {  // it is queued when that is over
      job->record.reason = job->terms.waits_for;
      board.Put(job->record);
      continue;
    }
    if (std::string why = gate.Ask(job->record); !why.empty()) {
      job->record.reason = std::move(why);
      board.Put(job->record);
      continue;
    }
    engine::RunRequest request = RequestOf(job->record);
    request.id.attempt = job->attempts();
    core::Job queued = JobOf(job->record, live.GiveId(*job));
    PutTerms(*job, queued);
    engine.Submit(std::move(queued), std::move(request));
    any = true;
  }
  return any;
}

// About as many ids are given between two looks as one look costs: little for each job. At most
// about three times as many are in use as there were jobs.
void Service::Impl::RenumberIfMostAreOver() {
  const std::size_t all = snapshot.job_count();
  if (all < std::max(look_at_ids, options.few_ids)) return;
  if (live.ids_given() != all) return;  // one is on its way into the snapshot
  std::vector<bool> stays(all);
  for (const auto list : {snapshot.waiting(), snapshot.running()}) {
    for (const core::JobId id : list) stays[id.index()] = true;
  }
  live.MarkStaying(stays);
  engine.MarkStaying(stays);
  const core::Renumbering ids(stays);
  const bool most_are_over = ids.staying() < all / 2;
  if (most_are_over) Renumber(ids);
  look_at_ids = (most_are_over ? ids.staying() : all) + ids.staying() + options.few_ids;
}

// Everybody who speaks of jobs by id between two turns.
void Service::Impl::Renumber(const core::Renumbering& ids) {
  loop->Renumber(ids);
  engine.Renumber(ids);
  live.Renumber(ids);
  paces.Renumber(ids);
  host_pressure.Renumber(ids);
  line.Forget();
  for (auto* reserved : {&reserved_gpus, &reserved_nodes}) {
    for (core::JobId& by : *reserved) by = ids.Of(by);
  }
}

void Service::Impl::ReleaseDependents(std::int64_t number, Phase how) {
  for (const std::int64_t other : admission.TakeDependents(number)) {
    LiveJob* job = live.Find(other);
    if (job == nullptr || job->record.phase != Phase::kHeld) continue;
    JobRecord& record = job->record;
    if (how != Phase::kFinished) {
      record.phase = Phase::kCancelled;
      record.ended = Wall();
      record.note = fmt::format("job {}, which it was to come after, {}", number,
                                how == Phase::kFailed ? "failed" : "was cancelled");
      Say("job.cancelled", other, fmt::format("job {}: {}", other, record.note));
    } else {
      record.reason = admission.WhyHeld(record);
      if (record.reason.empty()) {
        record.phase = Phase::kWaiting;
        Enqueue(other);
      }
    }
    outbox.Touch(*job);
  }
}

}  // namespace sharewell::control
