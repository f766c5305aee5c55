// Jobs whose process waits with its GPU memory on the host: they go on where they were, or wait.
// And who may be paused at all.
#pragma once

#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/options.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

// The place of a paused job where nobody is on its GPUs and its cores are free; else why not. It is
// all that it had: the process keeps its share of the SMs, and a guest its cap though it is alone.
// REQUIRES: view.paused.
Choice PausedPlace(const core::Snapshot& snapshot, const Ledger& ledger, const core::JobView& view);

// It may be paused when it runs: it has its GPUs for itself.
bool MayPause(const core::Snapshot& snapshot, const core::JobView& view);

// A running job that began to run, or to go on, too short a while ago to be paused.
bool TooSoonToPause(const core::Snapshot& snapshot, const core::JobView& view,
                    const Options& options);

}  // namespace sharewell::policy
