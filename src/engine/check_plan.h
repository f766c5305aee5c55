// The check between deciding and applying: a plan that over-commits, splits a gang, breaks a job's
// constraints (its share of the SMs among them) or names a job in the wrong state never reaches an
// engine, whatever policy made it.
#pragma once

#include "core/plan.h"
#include "core/result.h"
#include "core/snapshot.h"

namespace sharewell::engine {

// The first breach, in words, or nothing. Looks only at what the plan touches.
core::Result<void> CheckPlan(const core::Snapshot& snapshot, const core::Plan& plan);

}  // namespace sharewell::engine
