#include "control/service/jobs/time_given.h"

#include <algorithm>

namespace sharewell::control {

using core::Ratio;
using core::Seconds;

Seconds Extended(Seconds limit, Seconds before, const TimeBeside& beside) {
  const bool given_fewer = beside.limited && !beside.own_share;
  if (!beside.others && !given_fewer) return before;
  Ratio slowdown = beside.most;
  if (beside.slowdown) {
    // What it asked for is its own.
    slowdown = *beside.slowdown * (beside.own_share ? beside.share_speed.value_or(1) : 1);
  } else if (!beside.others && beside.share_speed && *beside.share_speed > 0) {
    slowdown = 1 / *beside.share_speed;
  }
  const Seconds lost = beside.passed * (1 - 1 / std::max(slowdown, 1.0));
  const Seconds most = limit * std::min(beside.most - 1, 1.0);
  return std::max(before, std::min(before + std::max(lost, Seconds(0)), most));
}

}  // namespace sharewell::control
