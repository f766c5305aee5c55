// What a job that found no place is short of, in figures: cores, memory or idle GPUs, how much it
// wants, how much there is, and where.
#pragma once

#include "core/plan.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

// `said`: why the placement found none. On clusters of more than 64 GPUs or nodes what takes a look
// at each of them is left out.
core::Reason ShortOf(const Context& context, const core::JobView& view, core::Reason said);

}  // namespace sharewell::policy
