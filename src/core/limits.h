// Limits: what one user may take of a server. Plain data: sharewell.toml says it by user and group
// (docs/formats/settings.md), and each place that can run out keeps to its part of it.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace sharewell::core {

struct Limits {
  // The queue.
  std::int64_t queued_jobs = 20'000;     // that are not over
  std::int64_t running_jobs = 1'000;     // at once; the rest of them wait
  Bytes queued_bytes{double(64 << 20)};  // commands and environments of jobs that are not over
  Bytes job_bytes{double(128 << 10)};    // command and environment of one job
  Bytes kept_bytes{double(256 << 20)};   // of jobs that are over, in the store; the oldest go
  std::int64_t most_priority = 0;        // positive priorities are for admins
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

}  // namespace sharewell::core
