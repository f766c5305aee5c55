// When a series has left its warm-up behind, and when its mean is known well enough. Pure.
//
// Warm-up ends where MSER (White 1997) says: at the cut that makes the standard error of what is
// left least. What comes at the start (compilation, autotuning, caches that fill) goes with it; a
// checkpoint now and then does not. The interval of the mean is by batch means, since neighbouring
// readings of one job are not independent.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/units.h"

namespace sharewell::core {

struct SteadyRules {
  Seconds interval{1};     // between values
  Seconds least{5};        // no window is shorter, and none has fewer than 5 values
  Ratio precision = 0.02;  // half the 95 % interval over the mean
  double floor = 0;        // half the interval is small enough below this, whatever the mean
};

// How many values the least window has.
std::size_t LeastValues(const SteadyRules& rules);

// The first value of the steady part. Absent: there is none yet, or it still moves.
std::optional<std::size_t> WarmupEnd(std::span<const double> values, const SteadyRules& rules);

struct Settling {
  bool settled = false;
  std::optional<Ratio> uncertainty;  // absent: too few values, or a mean of 0
};

// Of the steady part.
Settling Settle(std::span<const double> steady, const SteadyRules& rules);

// Half the 95 % interval of the mean of independent values, over the mean; absent below two values
// or for a mean of 0.
std::optional<Ratio> Uncertainty(std::span<const double> values);

}  // namespace sharewell::core
