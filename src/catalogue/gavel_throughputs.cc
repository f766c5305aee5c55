#include "catalogue/gavel_throughputs.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "json/value.h"
#include "platform/files/text.h"

namespace sharewell::catalogue {
namespace {

using core::Measurements;
using json::Value;

constexpr std::size_t kLargestJson = std::size_t{256} << 20;

struct JobType {
  std::string_view type;
  int scale_factor = 1;
};

// Python's repr of a tuple: ('ResNet-18 (batch size 16)', 1)
std::optional<JobType> ParseKey(std::string_view key) {
  if (key.size() < 7 || !key.starts_with('(') || !key.ends_with(')')) return std::nullopt;
  const char quote = key[1];
  const auto comma = key.rfind(',');
  if ((quote != '\'' && quote != '"') || comma == std::string_view::npos || comma < 4 ||
      key[comma - 1] != quote) {
    return std::nullopt;
  }
  JobType job{key.substr(2, comma - 3), 0};
  const std::string_view number = platform::Trimmed(key.substr(comma + 1, key.size() - comma - 2));
  const auto [end, code] =
      std::from_chars(number.data(), number.data() + number.size(), job.scale_factor);
  if (code != std::errc() || end != number.data() + number.size() || job.scale_factor < 1 ||
      job.scale_factor > 100000 || job.type.empty()) {
    return std::nullopt;
  }
  return job;
}

bool IsRate(double rate) { return std::isfinite(rate) && rate >= 0 && rate <= 1e12; }

core::Workload Named(const JobType& job) {
  return {GavelWorkload(job.type, job.scale_factor), 0, "", 0};
}

// The rates of one job type on one GPU.
class TypeReader {
 public:
  TypeReader(std::string_view gpu, const JobType& job, Measurements& into,
             std::set<std::pair<std::string, std::string>>& seen)
      : gpu_(gpu), job_(job), into_(into), seen_(seen) {}

  // What is wrong with the entry, or nothing.
  std::optional<std::string> Read(std::string_view key, Value value) {
    if (key == "null") return ReadAlone(value);
    const auto other = ParseKey(key);
    if (!other) return "is neither null nor a job type like ('A3C', 1)";
    if (job_.scale_factor != 1 || other->scale_factor != 1) return std::nullopt;
    return ReadPair(*other, value);
  }

 private:
  std::optional<std::string> ReadAlone(Value value) {
    const auto rate = value.Number();
    if (!rate || !IsRate(*rate)) return "must be a number of steps per second, at least 0";
    if (*rate == 0) return std::nullopt;
    core::Profile profile;
    profile.workload = Named(job_);
    profile.gpu = gpu_;
    profile.steps_per_second = *rate;
    into_.profiles.push_back(std::move(profile));
    return std::nullopt;
  }

  std::optional<std::string> ReadPair(const JobType& other, Value value) {
    const auto a = value.At(0).Number(), b = value.At(1).Number();
    if (value.size() != 2 || !a || !b || !IsRate(*a) || !IsRate(*b) || (*a == 0) != (*b == 0)) {
      return "must be two numbers of steps per second, both above 0, or both 0 (does not fit)";
    }
    core::PairMeasurement pair{std::string(gpu_), Named(job_), Named(other), *a, *b, *a > 0};
    // The file gives every pair in both orders.
    if (seen_.emplace(std::min(pair.a.name, pair.b.name), std::max(pair.a.name, pair.b.name))
            .second) {
      into_.pairs.push_back(std::move(pair));
    }
    return std::nullopt;
  }

  std::string_view gpu_;
  JobType job_;
  Measurements& into_;
  std::set<std::pair<std::string, std::string>>& seen_;
};

core::Result<Measurements> ReadRoot(Value root, const std::string& name) {
  Measurements measurements;
  for (const auto& [gpu, types] : root.members()) {
    if (gpu.ends_with("_unconsolidated")) continue;
    if (!types.is_object()) {
      return core::UsageError("{}: {} must hold job types, like in Gavel's throughputs", name,
                              core::Quoted(gpu));
    }
    std::set<std::pair<std::string, std::string>> seen;
    std::set<std::string_view> types_seen;
    for (const auto& [key, rates] : types.members()) {
      const auto job = ParseKey(key);
      if (!job || !types_seen.insert(key).second || !rates.is_object()) {
        return core::UsageError(
            "{}: {}: {} must be a job type like ('A3C', 1), once, with its rates below it", name,
            core::Quoted(gpu), core::Quoted(key));
      }
      TypeReader reader(gpu, *job, measurements, seen);
      for (const auto& [other, value] : rates.members()) {
        if (const auto problem = reader.Read(other, value)) {
          return core::UsageError("{}: {}: {}: {} {}", name, core::Quoted(gpu), core::Quoted(key),
                                  core::Quoted(other), *problem);
        }
      }
    }
  }
  if (measurements.profiles.empty()) {
    return core::UsageError("{}: holds no rates; expected GPU names with job types below them",
                            name);
  }
  return measurements;
}

}  // namespace

std::string GavelWorkload(std::string_view type, int scale_factor) {
  return scale_factor > 1 ? fmt::format("{} x{}", type, scale_factor) : std::string(type);
}

core::Result<Measurements> ReadGavelThroughputs(std::string_view text, const std::string& name) {
  if (text.size() > kLargestJson) {
    return core::UsageError("{}: is larger than 256 MiB, which no throughput file is", name);
  }
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return core::UsageError("{}: {}", name, parsed.error().message);
  if (!parsed->root().is_object()) {
    return core::UsageError("{}: must be a JSON object of GPU names", name);
  }
  return ReadRoot(parsed->root(), name);
}

}  // namespace sharewell::catalogue
