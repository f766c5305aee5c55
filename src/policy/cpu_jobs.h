// CPU-only jobs: they take cores that are left. Under a slimming sizing they also give way: stopped
// where a start of the same plan took their cores, slowed where the node's memory bandwidth no
// longer suffices for a training job (CODA), and let loose again when it does.
#pragma once

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

void PlaceCpuJobs(const core::Snapshot& snapshot, Ledger& ledger, bool give_way, core::Plan& plan);

}  // namespace sharewell::policy
