// How well a level was held: the limits that `sharewell stress` judges itself by.
#pragma once

#include <optional>
#include <vector>

namespace sharewell::stress {

inline constexpr double kMostError = 0.05;     // of the mean against the target
inline constexpr double kMostUnsteady = 0.03;  // of the seconds' means: coefficient of variation

struct Steadiness {
  double mean = 0;
  double error = 0;                 // (mean - target) / target
  std::optional<double> variation;  // standard deviation over mean; absent: under two seconds
  double largest_deviation = 0;     // of a second from the mean, over the mean
  bool held = false;                // within both limits
};

// Absent when there are no seconds. REQUIRES: target > 0.
std::optional<Steadiness> SteadinessOf(double target, const std::vector<double>& seconds);

}  // namespace sharewell::stress
