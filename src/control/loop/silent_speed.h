// How fast jobs go that tell no steps, by how much of the SMs all jobs on their GPU keep active
// together. Pure.
//
// For how long a step keeps SMs active hardly depends on who is beside it. So what is active now is
// the sum over the jobs of what each keeps active alone, times its speed. Against what was measured
// under MPS on an H200, the mean speed of co-located jobs comes out within 0.022 (111 pairs) and
// 0.029 (52 triples), without bias: control/loop/silent_speed_test.cc.
#pragma once

#include <optional>
#include <span>

#include "core/units.h"

namespace sharewell::control {

struct SmDemand {
  core::Ratio alone = 0;             // what it keeps active with its GPU to itself
  std::optional<core::Ratio> speed;  // by its steps; absent: it tells none
};

// The speed of those that tell none: their mean, weighted by what they keep active. Absent: there
// are none, or they keep so little active that the figure would be mostly error.
std::optional<core::Ratio> SilentSpeed(core::Ratio active, std::span<const SmDemand> jobs);

}  // namespace sharewell::control
