// Whether a node's memory bandwidth and PCIe still suffice when one more job comes, as believed,
// and the memory of the GPU beside processes that are no jobs.
#pragma once

#include "policy/placement/placement.h"

namespace sharewell::policy {

// True where the node does not state them: what is not known is not contended for.
bool HostHasRoom(const Context& context, const core::JobView& view, core::GpuId gpu);

}  // namespace sharewell::policy
