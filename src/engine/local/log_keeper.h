// LogKeeper: removes what is old or too much of a state folder's logs
// (engine/local/run/old_logs.h), every few minutes, and within seconds where running jobs write so
// much that they soon would have no room. On a thread of its own: a disk that is slow holds up
// nobody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "core/units.h"
#include "engine/local/run/old_logs.h"
#include "platform/mutex.h"

namespace sharewell::engine {

class LogKeeper {
 public:
  // Begins at once. `owners.live` is asked on the keeper's thread, and must know all jobs that are
  // not over; its ledger must outlive the keeper.
  LogKeeper(std::string state, engine::LogOwners owners, const engine::LogRetention& kept = {},
            core::Seconds every = core::Seconds(300));
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

 private:
  void Work();
  bool IsCrowded() const;

  const std::string state_;
  const engine::LogOwners owners_;
  const engine::LogRetention kept_;
  const core::Seconds every_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::engine
