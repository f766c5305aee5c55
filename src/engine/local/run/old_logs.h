// How long the logs of jobs that are over are kept, and how much of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/job/limits.h"
#include "core/metric.h"
#include "core/units.h"
#include "engine/local/run/log_ledger.h"

namespace sharewell::engine {

constexpr char kGoneEnding[] = ".gone";    // .../17.gone: on its way out
constexpr char kStorePrefix[] = "store-";  // of the folder of a store's logs

using LogLimitOf = std::function<core::Bytes(std::uint32_t uid)>;

struct LogRetention {
  core::Seconds age{30 * 86400.0};  // since a job's last run ended
  // Of all logs together, in room on the disk: the less of the two.
  core::Bytes all{10e9};
  core::Ratio of_disk = 0.1;
  LogLimitOf of_user = [](std::uint32_t) { return core::Limits().log_bytes; };
};

// Of a bound: the rest is for what is written before the next look.
constexpr double kRoomInLogs = 0.875;

// What all logs below that folder may take, by `kept` and by the size of the disk.
core::Bytes MostLogs(const std::string& folder, const LogRetention& kept);

struct LogOwners {
  std::string store;                       // the id of the store that `live` speaks of
  std::function<bool(std::int64_t)> live;  // whether this job of that store is not over
  LogLedger* ledger = nullptr;             // who writes now
};

// What is older goes. Where a user's logs take more than seven eighths of their bound, that user's
// oldest go; where all logs do, those of the user who has most. So there is room for what running
// jobs write. Logs of jobs that are live or that are written to stay, and count. Tells the ledger
// what is left. May be killed at any moment, and is then done by the next call. Takes as long as
// there are logs; once `stop` is set it soon returns. How many jobs' logs went.
std::int64_t RemoveOldLogs(const std::string& state, const LogRetention& kept, core::UnixMillis now,
                           const LogOwners& owners, const std::atomic<bool>& stop);

}  // namespace sharewell::engine
