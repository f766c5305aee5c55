// LogKeeper: removes what is old of a state folder's logs (engine/local/run/old_logs.h), every few
// minutes on a thread of its own: a disk that is slow holds up nobody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/units.h"
#include "engine/local/run/old_logs.h"

namespace sharewell::engine {

class LogKeeper {
 public:
  // Begins at once. `live` is asked on the keeper's thread, and must know all jobs that are not
  // over.
  LogKeeper(std::string state, std::function<bool(std::int64_t job)> live,
            const engine::LogRetention& kept = {}, core::Seconds every = core::Seconds(300));
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

 private:
  void Work();

  const std::string state_;
  const std::function<bool(std::int64_t)> live_;
  const engine::LogRetention kept_;
  const core::Seconds every_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::engine
