#include "core/job/job_record.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/sm_share.h"
#include "core/text/words.h"

namespace sharewell::core {
namespace {

constexpr std::array<std::string_view, 8> kPhases = {
    "held", "waiting", "starting", "running", "stopping", "finished", "failed", "cancelled"};

// Predictions are not better than this: less is not worth a word.
constexpr Ratio kWorthAWord = 1.05;

// A rate of another GPU model says little about this one.
std::optional<double> RateBelieved(const JobRecord& job) {
  const Profile& profile = job.believed.profile;
  const bool here = job.gpus.empty() || job.gpus.front().model == profile.gpu;
  return here ? profile.steps_per_second : std::nullopt;
}

}  // namespace

std::string_view NameOf(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::string_view EndedAs(Phase phase) {
  return phase == Phase::kCancelled ? std::string_view("was cancelled") : NameOf(phase);
}

std::string NameOf(const GivenGpu& gpu) {
  const bool of_cluster = gpu.uuid.find('/') != std::string::npos;
  return of_cluster ? gpu.uuid : std::to_string(gpu.index);
}

std::string_view NameOf(StepsBy by) { return by == StepsBy::kWatcher ? "watcher" : "report_step"; }

std::optional<StepsBy> StepsByNamed(std::string_view name) {
  for (const StepsBy by : {StepsBy::kReport, StepsBy::kWatcher}) {
    if (NameOf(by) == name) return by;
  }
  return std::nullopt;
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

std::optional<double> RateAlone(const JobRecord& job) {
  if (job.alone) return job.alone->steps_per_second;
  return job.believed.sources.pace == Source::kObserved ? RateBelieved(job) : std::nullopt;
}

std::optional<Ratio> SlowerThanPredicted(const JobRecord& job) {
  const auto rate = RateBelieved(job);
  if (RateAlone(job) || job.slowdown || !rate || !job.steps_per_second) return std::nullopt;
  if (*job.steps_per_second <= 0 || *rate < *job.steps_per_second * kWorthAWord) {
    return std::nullopt;
  }
  return *rate / *job.steps_per_second;
}

std::string SlowerInWords(const JobRecord& job) {
  const auto slower = SlowerThanPredicted(job);
  return slower ? fmt::format("{:.0f} % slower than predicted", (1 - 1 / *slower) * 100) : "";
}

std::string GuestInWords(const JobRecord& job) {
  if (!job.guest_memory) return {};
  const std::string bounds = fmt::format("{} and {} of GPU memory", ShareInWords(job.sm_share),
                                         SizeText(*job.guest_memory));
  // What it was started with holds until its process is started anew.
  return job.believed.sources.busy == Source::kAssumed
             ? bounds + ", after its neighbours, until it has told its step"
             : "it started as a guest, and keeps " + bounds + " until its next start";
}

std::optional<Seconds> TimeTaken(const JobRecord& job) {
  if (job.alone_time) return job.alone_time;
  return job.run_time.value > 0 ? std::optional(job.run_time) : std::nullopt;
}

std::optional<Phase> PhaseNamed(std::string_view name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    if (kPhases[i] == name) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

}  // namespace sharewell::core
