// Meter: what the requests of one user cost of the server's own CPU time. A bucket that leaks: a
// user may take a whole minute's part at once, and has it again as time goes by. Any thread.
#pragma once

#include <chrono>
#include <optional>

#include "core/units.h"
#include "platform/mutex.h"

namespace sharewell::http {

class Meter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Seconds of CPU time on one core.
  void Charge(core::Seconds used);
  // What is in the bucket of a user who may take so much a minute.
  core::Seconds Used(core::Seconds per_minute, Time now);
  // How long a user who may take so much a minute has to wait; absent: not at all.
  std::optional<core::Seconds> Wait(core::Seconds per_minute, Time now);

 private:
  core::Seconds Leak(core::Seconds per_minute, Time now) SHAREWELL_REQUIRES(mutex_);

  platform::Mutex mutex_;
  core::Seconds used_ SHAREWELL_GUARDED_BY(mutex_){0};
  std::optional<Time> leaked_ SHAREWELL_GUARDED_BY(mutex_);  // up to then
};

// Charges what this thread uses from here to the end of the block; null: nobody.
class MeteredBlock {
 public:
  explicit MeteredBlock(Meter* meter);
  ~MeteredBlock();
  MeteredBlock(const MeteredBlock&) = delete;
  MeteredBlock& operator=(const MeteredBlock&) = delete;

 private:
  Meter* meter_;
  core::Seconds begin_{0};
};

}  // namespace sharewell::http
