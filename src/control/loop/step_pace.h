// StepPace: how fast a job steps, from when it told how many it has done. Robust: a checkpoint, a
// validation pass or a hiccup is a long gap between two tellings, and says nothing about the pace.
// Pure.
//
// A window is the newest tellings that span long enough. Of each gap between two of them counts how
// long a step took. Gaps that are far from the median (half as much again, or half of it) are left
// out, and the pace is that of the rest: the median decides what is usual, and the mean of what is
// usual is more exact than the median where tellings are rare and times coarse.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "core/units.h"

namespace sharewell::control {

class StepPace {
 public:
  // A window spans so long, pauses left out; longer for jobs that tell rarely.
  explicit StepPace(core::Seconds window = core::Seconds(6)) : window_(window) {}

  void Clear();
  // So many steps were done at that time. REQUIRES: neither is less than when last told.
  void Observe(core::Seconds at, double steps);
  // The same, where another telling follows at once: the pace is worked out then.
  void Add(core::Seconds at, double steps);

  // Steps a second in the newest window, and in the one before it, which has no gap in common with
  // it. Absent: not told often enough.
  std::optional<double> newest() const { return newest_; }
  std::optional<double> before() const { return before_; }
  // Between two tellings, as usual. REQUIRES: newest()
  core::Seconds gap() const { return gap_; }

 private:
  struct Window {
    double rate = 0;
    std::size_t gaps = 0;
    core::Seconds gap;
  };
  std::optional<Window> WindowAfter(std::size_t skipped) const;  // gaps, newest first

  core::Seconds window_;
  std::deque<std::pair<core::Seconds, double>> told_;  // oldest first
  std::optional<double> newest_, before_;
  core::Seconds gap_;
};

}  // namespace sharewell::control
