#include "core/job_record.h"

#include <array>
#include <utility>

namespace sharewell::core {
namespace {

constexpr std::array<std::string_view, 8> kPhases = {
    "held", "waiting", "starting", "running", "stopping", "finished", "failed", "cancelled"};

}  // namespace

std::string_view NameOf(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::string_view EndedAs(Phase phase) {
  return phase == Phase::kCancelled ? std::string_view("was cancelled") : NameOf(phase);
}

std::string NameOf(const GivenGpu& gpu) {
  const bool of_cluster = gpu.uuid.find('/') != std::string::npos;
  return of_cluster ? gpu.uuid : std::to_string(gpu.index);
}

void SetHold(JobRecord& job, std::optional<Hold> hold) {
  job.phase = hold ? Phase::kHeld : Phase::kWaiting;
  job.reason = hold ? InWords(*hold, job.number) : std::string();
  job.hold = std::move(hold);
}

void EndCancelled(JobRecord& job, Cancelled by, UnixMillis now) {
  job.phase = Phase::kCancelled;
  job.note = InWords(by);
  job.cancelled = std::move(by);
  job.hold.reset();
  job.ended = now;
}

std::optional<Phase> PhaseNamed(std::string_view name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    if (kPhases[i] == name) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

}  // namespace sharewell::core
