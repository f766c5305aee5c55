// How much longer than its time limit a job may run, because we put others beside it or gave it
// fewer SMs: what it lost by that. Pure.
#pragma once

#include <optional>

#include "core/units.h"

namespace sharewell::control {

// A while of a job's run.
struct TimeBeside {
  core::Seconds passed;
  bool others = false;                     // were on its GPUs
  std::optional<core::Ratio> slowdown;     // measured, against all SMs alone
  core::Ratio most = 1;                    // slowdown that it bears: its bound and the margin
  bool limited = false;                    // it may not use all SMs
  std::optional<core::Ratio> share_speed;  // alone with those it may use
  bool own_share = false;                  // its user wanted it so
};

// The extension so far, with what it lost in that while. Where no slowdown was measured, it is
// taken to have lost as much as it bears. Never more than it would lose if it were slowed as much
// as it bears from its first second to its limit: by claiming to be slow nobody gets more than
// that. And never more than the limit.
core::Seconds Extended(core::Seconds limit, core::Seconds before, const TimeBeside& beside);

}  // namespace sharewell::control
