#include "control/loop/silent_speed.h"

#include <algorithm>

namespace sharewell::control {
namespace {

// Of what all keep active alone. The error of the sum, 2 to 3 % of it, then is at most about 10 %.
constexpr double kLeastPart = 0.25;
constexpr core::Ratio kLeastActive = 0.02;  // below, a GPU's counter says little

}  // namespace

std::optional<core::Ratio> SilentSpeed(core::Ratio active, std::span<const SmDemand> jobs) {
  double all = 0, silent = 0, told = 0;
  for (const SmDemand& job : jobs) {
    all += job.alone;
    if (job.speed) {
      told += job.alone * *job.speed;
    } else {
      silent += job.alone;
    }
  }
  if (silent < kLeastActive || silent < all * kLeastPart) return std::nullopt;
  return std::max(0.0, active - told) / silent;
}

}  // namespace sharewell::control
