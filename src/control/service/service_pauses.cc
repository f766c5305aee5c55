// Pauses: a job's process waits with its GPU memory on the host, and its GPUs are others'
// meanwhile. One that its user has paused is held until it is resumed; one that a plan has paused
// waits in the queue. Each is stored before it is done: a server that comes later goes on from
// there.
#include <algorithm>
#include <utility>

#include "control/service/service_impl.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;

void Service::Impl::TellGpuMemory(const LiveJob& job) {
  const JobRecord& record = job.record;
  std::optional<core::Bytes> memory;
  if (monitor != nullptr && !record.gpus.empty()) {
    memory = monitor->Now(record.number, record.gpus.front().uuid).gpu_memory;  // on all of them
  }
  const auto gpus_held = static_cast<double>(std::max<std::size_t>(record.gpus.size(), 1));
  if (!memory && record.believed.gpu_memory_upper) {
    memory = *record.believed.gpu_memory_upper * gpus_held;
  }
  if (!memory && record.believed.profile.gpu_memory) {
    memory = *record.believed.profile.gpu_memory * gpus_held;
  }
  engine.SetGpuMemory(job.id, memory);
}

Result<void> Service::Impl::WhyNotPaused(const LiveJob& job) {
  const JobRecord& record = job.record;
  const std::int64_t number = record.number;
  if (record.phase != Phase::kRunning) {
    return FailedError(
        "job {} is {}: only a job that runs can be paused; `sharewell hold {}` keeps one that "
        "waits "
        "from starting",
        number, core::NameOf(record.phase), number);
  }
  if (record.asked.gpus == 0) {
    return FailedError("job {} has no GPU: there is nothing to move, so it cannot be paused",
                       number);
  }
  const bool alone = options.alone || record.asked.exclusive || record.ooms > 0 ||
                     record.evicted >= core::kEvictionsAlone || record.paused_at;
  if (!alone) {
    return FailedError(
        "job {} may share its GPU, so it runs under MPS, and the driver cannot pause clients of "
        "MPS; submit it with --exclusive to have it alone on its GPU",
        number);
  }
  if (const std::string why = runner.WhyNoPause(); !why.empty()) {
    return FailedError("job {} cannot be paused: {}", number, why);
  }
  if (!record.paused_at) return {};
  const core::Seconds ago(static_cast<double>(Wall() - *record.paused_at) / 1e3);
  if (ago < options.pause_gap) {
    return FailedError(
        "job {} was paused {:.0f} s ago, and is paused at most once in {:.0f} s; try again in "
        "{:.0f} "
        "s",
        number, ago.value, options.pause_gap.value, (options.pause_gap - ago).value + 1);
  }
  return {};
}

Result<void> Service::Impl::Pause(LiveJob& job, const core::Account& who) {
  JobRecord record = job.record;
  if (record.paused && !record.cancelled) {
    // A plan has paused it: from now on its user has.
    if (record.phase == Phase::kWaiting) return Hold(job);
    if (record.phase == Phase::kHeld || record.phase == Phase::kStopping) return {};
  }
  if (auto can = WhyNotPaused(job); !can) return can;
  record.phase = Phase::kStopping;
  record.paused = true;
  record.asked.held = true;
  record.reason = "paused by " + who.name;
  store::JobChanges changes;
  changes.events.push_back({0, Wall(), "job.pausing", record.number,
                            fmt::format("job {} is to be {}", record.number, record.reason)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  TellGpuMemory(job);
  engine.Pause(job.id);
  return {};
}

Result<void> Service::Impl::Resume(LiveJob& job) {
  const JobRecord& record = job.record;
  if (record.paused && record.phase == Phase::kHeld) return Release(job);
  if (record.paused && record.phase == Phase::kStopping) {
    return FailedError("job {} is still being paused; try again in a few seconds", record.number);
  }
  if (record.paused) return {};  // it is in the queue, or on its way
  return FailedError("job {} is not paused: it is {}", record.number, core::NameOf(record.phase));
}

void Service::Impl::WritePause(LiveJob& job, const engine::RunPaused& event) {
  JobRecord& record = job.record;
  record.paused_at = Wall();
  if (record.cancelled) return;
  if (event.host_memory.value > 0) record.seen.gpu_memory = event.host_memory;
  Say("job.paused", record.number,
      fmt::format("job {} is paused; {:.1f} GB of its memory went to the host", record.number,
                  event.host_memory.value / 1e9));
  if (record.phase != Phase::kStopping) return;  // wanted back already
  record.phase = record.asked.held ? Phase::kHeld : Phase::kWaiting;
  // One that the loop counts as running was paused by its user, or by an earlier server's plan.
  if (!job.id.valid() ||
      (record.phase == Phase::kWaiting && snapshot.job(job.id).state != core::JobState::kRunning)) {
    return;
  }
  engine.Park(live.TakeId(job));
  if (record.phase == Phase::kWaiting) Enqueue(record.number);
}

void Service::Impl::WritePause(LiveJob& job, const engine::RunResumed& /*event*/) {
  JobRecord& record = job.record;
  if (record.cancelled || !std::exchange(record.paused, false)) return;
  record.phase = Phase::kRunning;
  if (monitor != nullptr && job.adopted) monitor->Began(record);
  // What it ran for does not count the time in between.
  if (record.resumed && record.paused_at) *record.resumed += Wall() - *record.paused_at;
  Say("job.resumed", record.number, fmt::format("job {} goes on", record.number));
}

void Service::Impl::WritePause(LiveJob& job, const engine::PauseRefused& event) {
  JobRecord& record = job.record;
  const bool by_hand = record.asked.held;
  record.paused = record.asked.held = false;
  if (record.cancelled) return;
  record.note = "it could not be paused: " + event.why;
  if (by_hand) {
    record.phase = Phase::kRunning;
    record.reason.clear();
  } else {
    record.note += "; so it is stopped, and begins anew";
  }
  Say("job.pause_refused", record.number, fmt::format("job {}: {}", record.number, record.note));
}

void Service::Impl::WritePause(LiveJob& job, const engine::ResumeRefused& event) {
  JobRecord& record = job.record;
  if (record.cancelled) return;
  record.phase = Phase::kWaiting;
  record.note = "it could not go on: " + event.why + "; it is tried again";
  Say("job.resume_refused", record.number, fmt::format("job {}: {}", record.number, record.note));
}

bool Service::Impl::RestorePaused(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs) {
  const JobRecord& record = job.record;
  const auto run = runs.find({record.number, record.attempt});
  if (run == runs.end()) return false;
  const bool here =
      std::all_of(run->second.gpus.begin(), run->second.gpus.end(),
                  [&](const core::GivenGpu& gpu) { return gpus.WithUuid(gpu.uuid).has_value(); });
  if (!here) return false;  // it is ended with those that have no owner
  job.adopted = true;
  engine.ParkFound(run->second, RequestOf(record));
  runs.erase(run);
  return true;
}

}  // namespace sharewell::control
