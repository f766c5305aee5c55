// The knee of a curve: the least of a resource beyond which nothing is gained. Of CPU cores it is
// CODA's optimal core number. Pure.
#pragma once

#include <optional>
#include <vector>

#include "core/job/profile.h"
#include "core/units.h"

namespace sharewell::measure {

// What a knee must keep of the best throughput. A repeat of a steady run differs by 1 to 2 %, so
// that 3 % is the least loss that is no noise.
inline constexpr core::Ratio kKneeKeeps = 0.97;

struct CurvePoint {
  double resource = 0, throughput = 0;
  // Half the 95 % interval of the throughput over it; absent: unknown.
  std::optional<core::Ratio> uncertainty = {};
};

struct Knee {
  double at = 0;     // one of the given points
  double share = 0;  // of the best throughput, by the fit: keeps..1
  // At each point: the nearest curve (least squares) that rises, or, where more truly hurts, rises
  // up to a peak and falls after it. A fall is true when it loses more than a knee may and is
  // beyond the uncertainty of both, the peak and what is below it; where that is not known, the
  // first is enough. Noise bends it little: neighbours that contradict the shape are averaged.
  std::vector<double> fitted;
};

// None for fewer than three points, or when the best is not above 0. REQUIRES: resources rise,
// throughputs and uncertainties are finite and not negative, 0 < keeps <= 1.
std::optional<Knee> FindKnee(const std::vector<CurvePoint>& points, core::Ratio keeps = kKneeKeeps);

// The curve as a profile holds it: shares of the best by the fit, flat from the peak on, since a
// job that has more cores than it likes may leave some idle. Empty for fewer than two points or a
// best of 0. REQUIRES as FindKnee; resources above 0.
core::CpuCurve FittedCurve(const std::vector<CurvePoint>& points);

}  // namespace sharewell::measure
