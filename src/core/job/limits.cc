#include "core/job/limits.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/result.h"

namespace sharewell::core {
namespace {

constexpr double kMebibyte = 1 << 20;

constexpr auto kKeys = std::to_array<LimitKey>({
    {"queued_jobs", "jobs that are not over", &Limits::queued_jobs},
    {"running_jobs", "jobs that run at once; the others wait", &Limits::running_jobs},
    {"queued_bytes", "commands and environments of jobs that are not over", &Limits::queued_bytes,
     LimitUnit::kBytes},
    {"job_bytes", "command and environment of one job", &Limits::job_bytes, LimitUnit::kBytes},
    {"kept_bytes", "records of jobs that are over; the oldest go first", &Limits::kept_bytes,
     LimitUnit::kBytes},
    {"most_priority", "highest priority of a job", &Limits::most_priority},
    {"gpus", "GPUs at once; jobs that want more wait", &Limits::gpus},
    {"gpu_hours_a_week", "GPU hours of the last seven days; then jobs wait",
     &Limits::gpu_hours_a_week, LimitUnit::kHours},
    {"job_time", "longest time of a job (--time)", &Limits::job_time, LimitUnit::kTime},
    {"log_bytes", "logs of all jobs; the oldest go first", &Limits::log_bytes, LimitUnit::kBytes},
    {"connections", "open connections to the server", &Limits::connections},
    {"streams", "open streams of events and logs", &Limits::streams},
    {"request_bytes", "requests and answers under way", &Limits::request_bytes, LimitUnit::kBytes},
    {"studies", "predictions, what-ifs and dry runs, waiting or under way", &Limits::studies},
    {"server_seconds_per_minute", "CPU time of the server for requests",
     &Limits::server_seconds_per_minute, LimitUnit::kSecondsAMinute},
});

// "64 MiB", "1.5 GiB", "900 bytes".
std::string BinarySize(double bytes) {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {kMebibyte * kMebibyte, "TiB"}, {kMebibyte * 1024, "GiB"}, {kMebibyte, "MiB"}, {1024, "KiB"}};
  for (const auto& [size, name] : kUnits) {
    if (bytes >= size) return fmt::format("{:g} {}", std::round(bytes / size * 10) / 10, name);
  }
  return fmt::format("{:.0f} bytes", bytes);
}

// "24h", "7d", "90m", "45s": in the largest unit that counts it whole, days from two on.
std::string TimeOf(double seconds) {
  constexpr std::pair<double, char> kTimes[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
  for (const auto& [unit, letter] : kTimes) {
    const double least = letter == 'd' ? 2 * unit : unit;
    if (seconds >= least && std::fmod(seconds, unit) == 0) {
      return fmt::format("{:.0f}{}", seconds / unit, letter);
    }
  }
  return fmt::format("{:g}s", seconds);
}

}  // namespace

Limits AdminLimits() {
  Limits limits;
  limits.queued_jobs = 50'000;
  limits.running_jobs = 10'000;
  limits.queued_bytes = Bytes(256 * kMebibyte);
  limits.job_bytes = Bytes(kMebibyte);
  limits.kept_bytes = GiB(1);
  limits.most_priority = 1'000'000;
  limits.log_bytes = GiB(8);
  limits.connections = 128;
  limits.streams = 128;
  limits.request_bytes = Bytes(256 * kMebibyte);
  limits.studies = 8;
  limits.server_seconds_per_minute = 40;
  return limits;
}

std::span<const LimitKey> LimitKeys() { return kKeys; }

const LimitKey& LimitNamed(std::string_view name) {
  const LimitKey* found = nullptr;
  for (const LimitKey& key : kKeys) {
    if (key.name == name) found = &key;
  }
  SHAREWELL_CHECK(found != nullptr);
  return *found;
}

double ValueOf(const Limits& limits, const LimitKey& key) {
  if (const auto* whole = std::get_if<0>(&key.member)) return static_cast<double>(limits.**whole);
  if (const auto* bytes = std::get_if<1>(&key.member)) return (limits.**bytes).value;
  if (const auto* time = std::get_if<3>(&key.member)) return (limits.**time).value;
  return limits.*std::get<2>(key.member);
}

void SetValue(Limits& limits, const LimitKey& key, double value) {
  if (const auto* whole = std::get_if<0>(&key.member)) {
    limits.** whole = static_cast<std::int64_t>(value);
  } else if (const auto* bytes = std::get_if<1>(&key.member)) {
    limits.** bytes = Bytes(value);
  } else if (const auto* time = std::get_if<3>(&key.member)) {
    limits.** time = Seconds(value);
  } else {
    limits.*std::get<2>(key.member) = value;
  }
}

std::string LimitText(const LimitKey& key, double value) {
  if (!key.is_bytes() && IsNoLimit(value)) return "none";
  switch (key.unit) {
    case LimitUnit::kBytes:
      return BinarySize(value);
    case LimitUnit::kSecondsAMinute:
      return fmt::format("{:g} s a minute", std::round(value * 10) / 10);
    case LimitUnit::kHours:
      return fmt::format("{:g} h", std::round(value * 10) / 10);
    case LimitUnit::kTime:
      return TimeOf(value);
    case LimitUnit::kCount:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::string WhoRaises(std::string_view key) {
  return fmt::format("an admin can raise limits.{} in sharewell.toml", key);
}

}  // namespace sharewell::core
