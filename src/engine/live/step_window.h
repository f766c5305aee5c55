// StepWindow: how many steps a second a run does lately, from what it tells.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "core/units.h"

namespace sharewell::engine {

class StepWindow {
 public:
  static constexpr core::Seconds kLately{10};
  static constexpr core::Seconds kLeast{2};  // less says too little

  void Add(core::Seconds now, double steps) {
    // The last one before the window stays: the window begins between it and the next.
    while (told_.size() > 1 && told_[1].first < now - kLately) told_.pop_front();
    if (!told_.empty() && steps < told_.back().second) told_.clear();  // it began anew
    told_.emplace_back(now, steps);
  }
  // What was told so far says nothing about from now on: somebody came or left.
  void Clear() { told_.clear(); }
  // Absent: not known yet. A run that has not moved is still warming up, not slow.
  std::optional<double> PerSecond() const {
    if (told_.size() < 2) return std::nullopt;
    const core::Seconds time = told_.back().first - told_.front().first;
    const double steps = told_.back().second - told_.front().second;
    if (time < kLeast || steps <= 0) return std::nullopt;
    return steps / time.value;
  }

 private:
  std::deque<std::pair<core::Seconds, double>> told_;
};

}  // namespace sharewell::engine
