// What a job that found no place is short of, in figures: cores, memory (the GPU's or the host's)
// or idle GPUs, how much it wants, how much there is, and where.
#pragma once

#include <optional>

#include "core/plan.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

// `said`: why the placement found none. On clusters of more than 64 GPUs or nodes what takes a look
// at each of them is left out.
core::Reason ShortOf(const Context& context, const core::JobView& view, core::Reason said);

// No node where it may run has the host memory for it, or none of those whose GPUs are idle: the
// one where least is missing. Absent: it is not host memory that lacks, or the cluster is large.
std::optional<core::reason::NoHostMemory> NoHostMemory(const Context& context,
                                                       const core::JobView& view);

}  // namespace sharewell::policy
