// Into the loop's queue and out of it, and what the loop and the engine ask of the service.
#include <algorithm>
#include <utility>

#include "control/loop/seen_needs.h"
#include "control/service/plan_records.h"
#include "control/service/service_impl.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

constexpr int kAboveAll = 1'000'000'000;  // a priority: no order takes its place away

}  // namespace

std::optional<double> StepsByProfile(const JobRecord& record) {
  const core::Profile& profile = record.believed.profile;
  const bool here = record.gpus.empty() || record.gpus.front().model == profile.gpu;
  return here ? profile.steps_per_second : std::nullopt;
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
    record.believed =
        SeenNeeds(record.believed, monitor->Seen(record.number), record.cores, record.asked.gpus);
    outbox.Touch(*found);
  }
  return advisor.EstimateOf(found->record);
}

engine::RunRequest Service::Impl::RequestOf(core::JobId id) const {
  engine::RunRequest request;
  if (const LiveJob* job = live.Find(id); job != nullptr) {
    request.id = {job->record.number, job->record.attempt};
    request.user = job->record.user;
    request.asked = job->record.asked;
  }
  return request;
}

std::optional<double> Service::Impl::StepsAlone(core::JobId id) const {
  if (const auto alone = guard.PaceOf(id).alone) return alone;
  const LiveJob* job = live.Find(id);
  return job == nullptr ? std::nullopt : StepsByProfile(job->record);
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

// Stored before the engine is told. On failure nothing here has changed.
core::Result<void> Service::Impl::OnPlan(const core::Snapshot&, const core::Plan& plan) {
  store::JobChanges changes = RecordsOf(plan, snapshot, live, gpus, Wall());
  if (!changes.jobs.empty()) {
    if (auto kept = Commit(std::move(changes)); !kept) return kept;
  }
  // Why somebody waits is found out anew after a restart; it is shown, not stored.
  for (const auto& wait : plan.waits) {
    if (LiveJob* job = live.Find(wait.job)) {
      job->record.reason =
          core::InWords(wait.reason, live.NameOf(wait.reason.job)) + gpus.UnusableText();
      board.Put(job->record);
    }
  }
  return {};
}

core::Job Service::Impl::JobOf(const JobRecord& record, core::JobId id) {
  core::Job job;
  job.id = id;
  job.name = std::to_string(record.number);
  job.user = live.UserIdOf(record.user.name);
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
  job.exclusive = record.asked.exclusive || record.ooms > 0 || record.evicted >= kEvictionsAlone;
  job.priority = record.asked.priority;
  job.max_slowdown = record.asked.max_slowdown;
  job.submit = core::Seconds(static_cast<double>(record.submitted - wall_at_zero) / 1e3);
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

void Service::Impl::SubmitEnqueued() {
  for (const std::int64_t number : std::exchange(enqueued, {})) {
    LiveJob* job = live.Find(number);
    if (job == nullptr || job->record.phase != Phase::kWaiting) continue;  // cancelled meanwhile
    engine.Submit(JobOf(job->record, live.GiveId(*job)));
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

void Service::Impl::SeatReservations() {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool usable = gpus.usable(core::GpuId(i));
    if (usable != reservation[i].valid()) continue;
    if (usable) {
      loop->Unseat(std::exchange(reservation[i], {}));
      engine.Wake();  // somebody may have waited for it
      continue;
    }
    core::Job job;
    job.id = live.GiveIdToNobody();
    job.name = "unusable";
    job.exclusive = true;
    job.priority = kAboveAll;
    job.submit = snapshot.now();
    reservation[i] = job.id;
    loop->Seat(std::move(job), advisor.EstimateOf({}), {{core::GpuId(i)}, {}, 0});
  }
}

}  // namespace sharewell::control
