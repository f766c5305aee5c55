// How long the logs of jobs that are over are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/metric.h"
#include "core/units.h"

namespace sharewell::engine {

constexpr char kGoneEnding[] = ".gone";  // <state>/logs/17.gone: on its way out

struct LogRetention {
  core::Seconds age{30 * 86400.0};  // since a job's last run ended
  // Of all logs together, in room on the disk: the less of the two.
  core::Bytes all{10e9};
  core::Ratio of_disk = 0.1;
};

// What is older goes, and the oldest go until the rest is within bounds. Logs of jobs that `live`
// names stay, and count. May be killed at any moment, and is then done by the next call. Takes as
// long as there are logs; once `stop` is set it soon returns. How many jobs' logs went.
std::int64_t RemoveOldLogs(const std::string& state, const LogRetention& kept, core::UnixMillis now,
                           const std::function<bool(std::int64_t)>& live,
                           const std::atomic<bool>& stop);

}  // namespace sharewell::engine
