#include "stress/steadiness.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"

namespace sharewell::stress {

std::optional<Steadiness> SteadinessOf(double target, const std::vector<double>& seconds) {
  const auto mean = core::Mean(seconds);
  if (!mean) return std::nullopt;
  Steadiness out;
  out.mean = *mean;
  out.error = (*mean - target) / target;
  double squares = 0;
  for (const double second : seconds) {
    squares += (second - *mean) * (second - *mean);
    if (*mean > 0) {
      out.largest_deviation = std::max(out.largest_deviation, std::abs(second / *mean - 1));
    }
  }
  if (seconds.size() > 1 && *mean > 0) {
    out.variation = std::sqrt(squares / static_cast<double>(seconds.size() - 1)) / *mean;
  }
  out.held = std::abs(out.error) <= kMostError && out.variation.value_or(0) <= kMostUnsteady;
  return out;
}

}  // namespace sharewell::stress
