// Who runs with other cores than what was measured of it says, or what it has told of itself:
// nothing was known of it when it started. More only where they are free. Where training jobs are
// given the cores that they can use.
#pragma once

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/sizing/sizing.h"

namespace sharewell::policy {

void AdjustCores(const core::Snapshot& snapshot, const Sizing& sizing, Ledger& ledger,
                 core::Plan& plan);

}  // namespace sharewell::policy
