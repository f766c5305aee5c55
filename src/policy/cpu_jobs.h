// CPU-only jobs: they take cores that are left. Under a slimming sizing they also give way: stopped
// where a start of the same plan took their cores or host memory, slowed where the node's memory
// bandwidth no longer suffices for a training job (CODA), and let loose again when it does.
#pragma once

#include <functional>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

// `by_user`: of equal priority, those whose user has fewest cores for CPU-only jobs go first.
// `tell` hears why the first of those that stay waiting do.
void PlaceCpuJobs(const core::Snapshot& snapshot, Ledger& ledger, bool give_way, bool by_user,
                  core::Plan& plan,
                  const std::function<void(core::JobId, const core::Reason&)>& tell);

}  // namespace sharewell::policy
