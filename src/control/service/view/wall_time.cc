#include "control/service/view/wall_time.h"

#include <cstdlib>

namespace sharewell::control {
namespace {

constexpr core::UnixMillis kJump = 60'000;
constexpr double kSlewMillis = 1;  // a second: twice what adjtime may do
constexpr core::Seconds kTrustAfter(3600);
constexpr core::UnixMillis kMostOff = core::UnixMillis{30} * 86'400'000;

core::UnixMillis Millis(core::Seconds time) {
  return static_cast<core::UnixMillis>(time.value * 1e3);
}

}  // namespace

void WallTime::Look(core::UnixMillis wall, core::Seconds steady) {
  const core::UnixMillis offset = wall - Millis(steady);
  if (!began_) {
    began_ = agreed_since_ = steady;
  } else {
    const auto slewed = static_cast<core::UnixMillis>((steady - looked_).value * kSlewMillis);
    if (std::abs(offset - offset_) > kJump + slewed) agreed_since_ = steady;
  }
  offset_ = offset;
  looked_ = steady;
}

std::optional<core::UnixMillis> WallTime::OldBefore(core::UnixMillis keep) const {
  if (!began_ || looked_ - agreed_since_ < kTrustAfter) return std::nullopt;
  const core::UnixMillis plausible = youngest_ + kMostOff + Millis(looked_ - *began_);
  return std::min(At(looked_), plausible) - keep;
}

}  // namespace sharewell::control
