// Limits: what one user may take of a server. Plain data: sharewell.toml says it by user and group
// (docs/formats/settings.md), and each place that can run out keeps to its part of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/units.h"

namespace sharewell::core {

// A limit so high is none.
inline constexpr std::int64_t kNoLimit = 1'000'000'000;

struct Limits {
  // The queue.
  std::int64_t queued_jobs = 20'000;     // that are not over
  std::int64_t running_jobs = 1'000;     // at once; the rest of them wait
  Bytes queued_bytes{double(64 << 20)};  // commands and environments of jobs that are not over
  Bytes job_bytes{double(128 << 10)};    // command and environment of one job
  Bytes kept_bytes{double(256 << 20)};   // of jobs that are over, in the store; the oldest go
  std::int64_t most_priority = 0;        // positive priorities are for admins
  // The GPUs.
  std::int64_t gpus = kNoLimit;                     // at once; jobs above that wait
  double gpu_hours_a_week = kNoLimit;               // of the last seven days; then the rest wait
  Seconds job_time{static_cast<double>(kNoLimit)};  // the longest --time of a job
  // What jobs write.
  Bytes log_bytes = GiB(2);  // of all their logs that are kept; the oldest go
  // The server's own time and memory.
  std::int64_t connections = 64;
  std::int64_t streams = 64;              // of events and logs that stay open
  Bytes request_bytes{double(64 << 20)};  // of requests and answers under way
  std::int64_t studies = 2;               // predictions, what-ifs, dry runs: waiting or under way
  double server_seconds_per_minute = 20;  // of one core, spent on this user's requests

  friend bool operator==(const Limits&, const Limits&) = default;
};

// What an admin has where sharewell.toml says nothing: more, and still an end, because an admin's
// script that runs wild must not stop the server either.
Limits AdminLimits();

enum class LimitUnit : std::uint8_t { kCount, kBytes, kSecondsAMinute, kHours, kTime };

// One of them: its key in sharewell.toml, by which every refusal names it.
struct LimitKey {
  std::string_view name;  // "queued_jobs"
  std::string_view what;  // "jobs that are not over"
  std::variant<std::int64_t Limits::*, Bytes Limits::*, double Limits::*, Seconds Limits::*> member;
  LimitUnit unit = LimitUnit::kCount;

  bool is_bytes() const { return unit == LimitUnit::kBytes; }
};
std::span<const LimitKey> LimitKeys();  // in the order of Limits
// REQUIRES: there is such a key.
const LimitKey& LimitNamed(std::string_view name);

double ValueOf(const Limits& limits, const LimitKey& key);  // of a time in seconds
void SetValue(Limits& limits, const LimitKey& key, double value);
inline bool IsNoLimit(double value) { return value >= static_cast<double>(kNoLimit); }
// "20000", "64 MiB", "20 s a minute", "1.5 h", "24h"; "none".
std::string LimitText(const LimitKey& key, double value);
// The end of every refusal: "an admin can raise limits.queued_jobs in sharewell.toml".
std::string WhoRaises(std::string_view key);

// The limits of one account, and where each comes from: "default", "[limits.group.lab]".
struct AccountLimits {
  Limits limits;
  std::vector<std::string> from;  // by the order of LimitKeys()
};

}  // namespace sharewell::core
