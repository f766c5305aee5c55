// The outside as a watch sees it: time, and jobs that can be started. Tests have their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "platform/process/child.h"
#include "platform/process/passed_signals.h"

namespace sharewell::measure {

class WatchedJob {
 public:
  virtual ~WatchedJob() = default;  // whatever still runs of it is killed
  virtual std::vector<int> Pids() = 0;
  virtual std::optional<platform::ChildEnd> Ended() = 0;
  virtual void Pass(const platform::PassedSignal& signal) = 0;
  virtual platform::StopReport Stop(core::Seconds grace) = 0;
  virtual void Drain() = 0;
};

class WatchWorld {
 public:
  virtual ~WatchWorld() = default;
  virtual core::Seconds Now() = 0;      // by a clock that does not jump
  virtual core::UnixMillis Wall() = 0;  // by the one on the wall
  virtual core::Result<std::unique_ptr<WatchedJob>> Start(
      const platform::ChildOptions& options) = 0;
  // Until the time is over, a job ends or a signal comes.
  virtual void Wait(core::Seconds most) = 0;
  virtual std::optional<platform::PassedSignal> NextSignal() = 0;
};

// This machine. While it lives, signals to this process are kept for NextSignal.
std::unique_ptr<WatchWorld> ThisMachine();

}  // namespace sharewell::measure
