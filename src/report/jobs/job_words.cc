// Jobs in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "core/sm_share.h"
#include "core/text/words.h"
#include "report/jobs/job_tables.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Phase;

std::string JobNumbers(const std::vector<std::int64_t>& numbers) {
  return fmt::format("job{} {}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "));
}

std::string PlaceInWords(const JobRecord& job) {
  std::string text;
  if (!job.gpus.empty()) {
    text = " on " + GpusInWords(job.gpus);
  } else if (job.cores > 0) {
    text = fmt::format(" on {}, without a GPU", core::Cores(job.cores));
  }
  if (!job.beside.empty()) text += " beside " + JobNumbers(job.beside);
  if (job.guest_memory) text += " as a guest";
  if (job.sm_share < 1) text += ", " + core::ShareInWords(job.sm_share);
  return text;
}

std::string AfterTime(const JobRecord& job, core::UnixMillis now) {
  const auto ran = RanFor(job, now);
  return ran ? " after " + Duration(*ran) : " before it ran";
}

// Where what it had on its GPUs is now.
std::string PausedInWords(const JobRecord& job) {
  return job.seen.gpu_memory
             ? fmt::format("its {} of GPU memory lie in host memory", Size(*job.seen.gpu_memory))
             : std::string("its GPU memory lies in host memory");
}

std::string WaitsInWords(const JobRecord& job, core::UnixMillis now) {
  const std::string reason = PlainText(job.reason);
  if (job.paused && job.phase == Phase::kHeld) {
    return fmt::format("{}: {}; `sharewell resume {}` lets it go on",
                       reason.empty() ? "paused" : reason, PausedInWords(job), job.number);
  }
  if (job.paused) {
    return fmt::format("paused: {}; it waits: {}", PausedInWords(job),
                       reason.empty() ? "for its turn" : reason);
  }
  const std::string held = job.phase == Phase::kHeld ? "held: " : "waits: ";
  std::string text = reason.empty()                          ? std::string("waits for its turn")
                     : job.hold && core::SaysHeld(*job.hold) ? reason
                                                             : held + reason;
  return job.expected_start ? text + "; " + StartInWords(*job.expected_start, now) : text;
}

}  // namespace

bool HasItsPlace(const JobRecord& job) {
  return job.phase == Phase::kStarting || job.phase == Phase::kRunning ||
         job.phase == Phase::kStopping;
}

std::string CutTo(std::string text, std::size_t width) {
  if (DisplayWidth(text) <= width) return text;
  if (width == 0) return "";
  text.resize(BytesWithin(text, width - 1));
  return text + "…";
}

std::string GpuName(const core::GivenGpu& gpu) { return PlainText(core::NameOf(gpu)); }

std::string GpusInWords(const std::vector<core::GivenGpu>& gpus) {
  if (gpus.empty()) return "no GPU";
  std::vector<std::string> names;
  std::vector<std::string> models;
  bool simulated = false;
  for (const core::GivenGpu& gpu : gpus) {
    names.push_back(GpuName(gpu));
    simulated = simulated || gpu.uuid.starts_with("simulated-");
    const std::string model = PlainText(gpu.model);
    if (!model.empty() && std::find(models.begin(), models.end(), model) == models.end()) {
      models.push_back(model);
    }
  }
  std::string text = fmt::format("GPU{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
  if (models.empty()) return text;
  return text + fmt::format(" ({}{})", simulated ? "simulated " : "", fmt::join(models, ", "));
}

std::string NeedsInWords(const core::Needs& needs) {
  std::vector<std::string> parts;
  const core::Profile& p = needs.profile;
  const core::Sources& from_whom = needs.sources;
  // Said of a figure where it is not from whom the whole is said to be.
  const auto unless_as_the_rest = [&](core::Source source) {
    if (source != from_whom.busy) parts.back() += fmt::format(" ({})", core::NameOf(source));
  };
  if (p.gpu_memory) {
    parts.push_back(Size(*p.gpu_memory) + " of GPU memory");
    if (needs.gpu_memory_upper && *needs.gpu_memory_upper > *p.gpu_memory) {
      parts.back() += " (at most " + Size(*needs.gpu_memory_upper) + ")";
    }
  } else if (needs.gpu_memory_upper) {
    parts.push_back("at most " + Size(*needs.gpu_memory_upper) + " of GPU memory");
  }
  if (!parts.empty()) unless_as_the_rest(from_whom.gpu_memory);
  if (p.busy) parts.push_back("GPU busy " + Percent(*p.busy));
  if (p.cpu_cores) {
    parts.push_back(Number(*p.cpu_cores, 1) + " cores");
    unless_as_the_rest(from_whom.cores);
  }
  if (p.host_memory) {
    parts.push_back(Size(*p.host_memory) + " of memory");
    unless_as_the_rest(from_whom.host_memory);
  }
  if (p.steps_per_second) {
    parts.push_back(Number(*p.steps_per_second, 1) + " steps/s");
    unless_as_the_rest(from_whom.pace);
  }
  if (needs.duration) {
    parts.push_back("takes " + Duration(*needs.duration));
    unless_as_the_rest(from_whom.duration);
  }
  const std::string from = PlainText(needs.from);
  const std::string source =
      fmt::format("{}{}{}", core::NameOf(from_whom.busy), from.empty() ? "" : ": ", from);
  return parts.empty() ? source : fmt::format("{} ({})", fmt::join(parts, ", "), source);
}

std::optional<core::Seconds> RanFor(const JobRecord& job, core::UnixMillis now) {
  if (!job.resumed) return std::nullopt;
  const double last =
      static_cast<double>(std::max<core::UnixMillis>(job.ended.value_or(now) - *job.resumed, 0));
  if (HasItsPlace(job)) return job.run_time + core::Seconds(last / 1e3);
  if (job.run_time.value > 0) return job.run_time;
  return job.ended ? std::optional(core::Seconds(last / 1e3)) : std::nullopt;
}

std::string StartInWords(core::UnixMillis start, core::UnixMillis now) {
  const double seconds = static_cast<double>(start - now) / 1e3;
  return seconds < 1
             ? "should start any moment"
             : "should start in about " + About(core::Seconds(seconds)) + ", as believed now";
}

std::string StateInWords(const JobRecord& job, core::UnixMillis now) {
  switch (job.phase) {
    case Phase::kHeld:
    case Phase::kWaiting:
      return WaitsInWords(job, now);
    case Phase::kStarting:
      return (job.paused ? "goes on" : "starts") + PlaceInWords(job);
    case Phase::kRunning:
      return "runs" + PlaceInWords(job);
    case Phase::kStopping:
      if (job.paused && !job.cancelled) {
        return "is being paused" + (job.reason.empty() ? "" : ": " + PlainText(job.reason));
      }
      return "is stopping" + (job.reason.empty() ? "" : ": " + PlainText(job.reason));
    case Phase::kFinished:
      return "finished" + AfterTime(job, now);
    case Phase::kFailed:
      return (job.exit_code ? fmt::format("failed with exit code {}", *job.exit_code)
                            : std::string("failed")) +
             AfterTime(job, now);
    case Phase::kCancelled:
      return "cancelled" + AfterTime(job, now);
  }
  return {};
}

}  // namespace sharewell::report
