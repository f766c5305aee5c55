#include "predict/figure.h"

#include <algorithm>
#include <cmath>

namespace sharewell::predict {

double ToScale(Figure figure, double value) {
  return IsShare(figure) ? std::log1p(100 * std::max(0.0, value))
                         : std::log(std::max(value, 1e-12));
}

double FromScale(Figure figure, double scaled) {
  if (IsShare(figure)) return std::clamp(std::expm1(scaled) / 100, 0.0, 1.0);
  return std::exp(std::min(scaled, 60.0));
}

}  // namespace sharewell::predict
