// EnergyCounter: a GPU's energy at every reading, though its counter is read only now and then (see
// pace.h): in between it is carried on by the power. It never goes back, except where the counter
// has started again.
#pragma once

#include <algorithm>
#include <optional>

namespace sharewell::collect {

class EnergyCounter {
 public:
  // The counter was read.
  void Read(double joules) {
    const bool restarted = read_ && joules < *read_;
    read_ = joules;
    carried_ = 0;
    shown_ = restarted || !shown_ ? joules : std::max(*shown_, joules);
  }
  // `seconds` went by since the last call of either, at this power.
  void Carry(double watts, double seconds) {
    if (!read_) return;
    carried_ += watts * seconds;
    shown_ = std::max(*shown_, *read_ + carried_);
  }
  // Joules; none before the counter was read.
  std::optional<double> value() const { return shown_; }

 private:
  std::optional<double> read_, shown_;
  double carried_ = 0;
};

}  // namespace sharewell::collect
