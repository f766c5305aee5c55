// Pace: how often a figure is asked for, so that asking for it stays cheap.
//
// Some calls of NVML go all the way to the GPU's own processor and keep a core busy for
// milliseconds (on an H200 with driver 580: 7.4 ms for the energy counter, 4 ms for the five
// throttle times, against 9 us for the power). Each figure may take its part of the time and no
// more.
#pragma once

#include <algorithm>
#include <chrono>

namespace sharewell::collect {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  // `part`: the share of the time that asking may take.
  explicit Pace(double part = 1.0 / 2000) : part_(part) {}

  bool Due(Clock::time_point now) const { return now >= next_; }
  void Took(Clock::time_point begin, Clock::duration took) {
    const std::chrono::duration<double> pause(std::chrono::duration<double>(took) / part_);
    next_ = begin + std::chrono::duration_cast<Clock::duration>(
                        std::min(pause, std::chrono::duration<double>(kLongest)));
  }

 private:
  static constexpr std::chrono::seconds kLongest{60};

  double part_;
  Clock::time_point next_{};
};

}  // namespace sharewell::collect
