// share: the placement of the policy `sharewell` (Yeung et al.; Ryu and Chun). An
// idle GPU of the model it is fastest on, while there is one. Else beside others on the GPU where
// the sum of speeds gains most, if by plan everybody on it, the newcomer included, ends its whole
// run in at most max_slowdown times its time alone: a lifetime average, not an instantaneous cap,
// so that a long job may have a short bad neighbour. Memory is packed on its upper bound, speed on
// its expectation; the node's memory bandwidth and PCIe must suffice. A job is tried against the
// least loaded GPUs when it comes, and later against those on which something changed: O(1) GPUs a
// decision. A job of which nothing is known runs alone; after a minute under profile it is known,
// and others may come.
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewSharePlacement();

}  // namespace sharewell::policy
