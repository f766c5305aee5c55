#include "core/estimate.h"

#include <algorithm>
#include <cmath>

namespace sharewell::core {

Ratio Throughput(const CpuCurve& curve, double wanted, double cores) {
  if (curve.empty()) return wanted <= 0 ? 1 : std::clamp(cores / wanted, 0.0, 1.0);
  double x0 = 0;
  double y0 = 0;
  for (const auto& [x, y] : curve) {
    if (cores <= x) return x > x0 ? y0 + (y - y0) * (cores - x0) / (x - x0) : y;
    x0 = x;
    y0 = y;
  }
  return y0;
}

double CoresFor(const CpuCurve& curve, double wanted, Ratio share) {
  // A curve need not end at 1: what its last point reaches is the most the job can have.
  const double most = curve.empty() ? 1 : curve.back().second;
  const double last = curve.empty() ? std::ceil(wanted) : std::ceil(curve.back().first);
  for (double cores = 1; cores < last; ++cores) {
    if (Throughput(curve, wanted, cores) >= share * most - 1e-9) return cores;
  }
  return std::max(1.0, last);
}

}  // namespace sharewell::core
