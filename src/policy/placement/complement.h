// complement: pairs whose demand vectors do not collide (Ryu and Chun, "sharing well"). An idle GPU
// while there is one; else, among the least loaded GPUs that may be shared, the one where the
// believed speeds of all on it sum to most, provided that nobody falls below 1 / max_slowdown, that
// the upper bound of memory fits, and that the node's memory bandwidth and PCIe still suffice
// (packing inside the GPU and inside the host).
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewComplementPlacement();

}  // namespace sharewell::policy
