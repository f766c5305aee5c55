#include "control/service/runs/pauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/text/words.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;

void Pauses::SetGpuMemory(const LiveJob& job) {
  const JobRecord& record = job.record;
  std::optional<core::Bytes> memory;
  if (parts_.monitor != nullptr && !record.gpus.empty()) {
    // On all of them.
    memory = parts_.monitor->Now(record.number, record.gpus.front().uuid).gpu_memory;
  }
  const auto gpus_held = static_cast<double>(std::max<std::size_t>(record.gpus.size(), 1));
  if (!memory && record.believed.gpu_memory_upper) {
    memory = *record.believed.gpu_memory_upper * gpus_held;
  }
  if (!memory && record.believed.profile.gpu_memory) {
    memory = *record.believed.profile.gpu_memory * gpus_held;
  }
  parts_.engine.SetGpuMemory(job.id, memory);
}

Result<void> Pauses::WhyNot(const LiveJob& job) const {
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
  const bool alone = parts_.alone || record.asked.exclusive || record.ooms > 0 ||
                     record.evicted >= core::kEvictionsAlone || record.paused_at;
  if (!alone) {
    return FailedError(
        "job {} may share its GPU, so it runs under MPS, whose clients the driver cannot pause; "
        "a job can be paused while it runs alone on its GPUs without MPS: one that was submitted "
        "with --exclusive, that was evicted twice or ran out of GPU memory before, or any job of a "
        "server that shares no GPU (`sharewell serve --policy slot`)",
        number);
  }
  const std::string why =
      parts_.pauser == nullptr ? engine::kNoPauser : parts_.pauser->WhyNoPause();
  if (!why.empty()) {
    return FailedError("job {} cannot be paused: {}", number, why);
  }
  if (!record.paused_at) return {};
  const core::Seconds ago(static_cast<double>(parts_.journal.Wall() - *record.paused_at) / 1e3);
  if (ago < parts_.gap) {
    return FailedError(
        "job {} was paused {:.0f} s ago, and is paused at most once in {:.0f} s; try again in "
        "{:.0f} s",
        number, ago.value, parts_.gap.value, (parts_.gap - ago).value + 1);
  }
  return {};
}

Result<void> Pauses::Begin(LiveJob& job, const core::Account& who) {
  JobRecord record = job.record;
  if (auto can = WhyNot(job); !can) return can;
  record.phase = Phase::kStopping;
  record.paused = true;
  record.asked.held = true;
  record.hold = core::hold::Paused{who.name};
  record.reason = core::InWords(*record.hold, record.number);
  store::JobChanges changes;
  changes.events.push_back({0, parts_.journal.Wall(), "job.pausing", record.number,
                            fmt::format("job {} is to be {}", record.number, record.reason)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) return kept;
  SetGpuMemory(job);
  parts_.engine.Pause(job.id);
  return {};
}

void Pauses::Write(LiveJob& job, const engine::RunPaused& event) {
  JobRecord& record = job.record;
  record.paused_at = parts_.journal.Wall();
  if (record.cancelled) return;
  if (event.host_memory.value > 0) record.seen.gpu_memory = event.host_memory;
  parts_.journal.Emit("job.paused", record.number,
                      fmt::format("job {} is paused; {} of its memory went to the host",
                                  record.number, core::SizeText(event.host_memory)));
  if (record.phase != Phase::kStopping) return;  // wanted back already
  record.phase = record.asked.held ? Phase::kHeld : Phase::kWaiting;
  // One that the loop counts as running was paused by its user, or by an earlier server's plan.
  if (!job.id.valid() || (record.phase == Phase::kWaiting &&
                          parts_.state.snapshot.job(job.id).state != core::JobState::kRunning)) {
    return;
  }
  parts_.engine.Park(parts_.state.live.TakeId(job));
  if (record.phase == Phase::kWaiting) parts_.queue.Enqueue(record.number);
}

void Pauses::Write(LiveJob& job, const engine::RunResumed& /*event*/) {
  JobRecord& record = job.record;
  if (record.cancelled || !std::exchange(record.paused, false)) return;
  record.phase = Phase::kRunning;
  if (parts_.monitor != nullptr && job.adopted) parts_.monitor->Began(record);
  // What it ran for does not count the time in between.
  if (record.resumed && record.paused_at) {
    *record.resumed += parts_.journal.Wall() - *record.paused_at;
  }
  parts_.journal.Emit("job.resumed", record.number, fmt::format("job {} goes on", record.number));
}

void Pauses::Write(LiveJob& job, const engine::PauseRefused& event) {
  JobRecord& record = job.record;
  const bool by_hand = record.asked.held;
  record.paused = record.asked.held = false;
  record.hold.reset();
  if (record.cancelled) return;
  record.note = "it could not be paused: " + event.why;
  if (by_hand) {
    record.phase = Phase::kRunning;
    record.reason.clear();
  } else {
    record.note += "; so it is stopped, and begins anew";
  }
  parts_.journal.Emit("job.pause_refused", record.number,
                      fmt::format("job {}: {}", record.number, record.note));
}

void Pauses::Write(LiveJob& job, const engine::ResumeRefused& event) {
  JobRecord& record = job.record;
  if (record.cancelled) return;
  record.phase = Phase::kWaiting;
  record.note = "it could not go on: " + event.why + "; it is tried again";
  parts_.journal.Emit("job.resume_refused", record.number,
                      fmt::format("job {}: {}", record.number, record.note));
}

bool Pauses::FindAgain(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs) {
  const JobRecord& record = job.record;
  const auto run = runs.find({record.number, record.attempt});
  if (run == runs.end()) return false;
  const bool here = std::all_of(
      run->second.gpus.begin(), run->second.gpus.end(),
      [&](const core::GivenGpu& gpu) { return parts_.state.gpus.WithUuid(gpu.uuid).has_value(); });
  if (!here) return false;  // it is ended with those that have no owner
  job.adopted = true;
  parts_.engine.ParkFound(run->second, RequestOf(record));
  runs.erase(run);
  return true;
}

}  // namespace sharewell::control
