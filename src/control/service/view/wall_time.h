// WallTime: the time of day that jobs are stamped with, kept on the runner's clock, which does not
// jump. It follows what the wall clock is set to, and knows whether that may be trusted with
// removing what is old. Plain figures in and out; the loop's thread.
#pragma once

#include <algorithm>
#include <optional>

#include "core/metric.h"
#include "core/units.h"

namespace sharewell::control {

class WallTime {
 public:
  // What both clocks say now; once a turn. `steady` never goes back.
  void Look(core::UnixMillis wall, core::Seconds steady);
  // The youngest time in the store when this server began; now, where it holds none.
  void BeginAfter(core::UnixMillis youngest) { youngest_ = youngest; }

  core::UnixMillis At(core::Seconds steady) const {
    return offset_ + static_cast<core::UnixMillis>(steady.value * 1e3);
  }
  // When that was on the runner's clock, before now: a time to come is one of a clock that was
  // wrong then, or is now.
  core::Seconds SteadyAt(core::UnixMillis wall) const {
    return std::min(core::Seconds(static_cast<double>(wall - offset_) / 1e3), looked_);
  }
  // What ended before this is older than `keep`. Absent while the clock may be wrong: in the first
  // hour, and for an hour after it was set by more than a minute. A clock that is far ahead of all
  // that was ever stored is believed a month of it: a server may have been off.
  std::optional<core::UnixMillis> OldBefore(core::UnixMillis keep) const;

 private:
  core::UnixMillis offset_ = 0;  // wall minus steady
  core::UnixMillis youngest_ = 0;
  core::Seconds looked_;
  std::optional<core::Seconds> began_;
  core::Seconds agreed_since_;  // the two clocks
};

}  // namespace sharewell::control
