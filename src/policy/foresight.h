// Foresight: when GPUs will be free for a job, as believed, if nobody else comes.
#pragma once

#include <optional>
#include <vector>

#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

struct SoonFree {
  std::vector<core::NodeId> nodes;
  core::Seconds in;  // from now
};

// The nodes of that model on which the job's GPUs are idle soonest, and when, nodes that are
// kept for others left out. Absent where it may not run or the model has too few. O(GPUs of the
// cluster).
std::optional<SoonFree> SoonestFree(const core::Snapshot& snapshot, const Ledger& ledger,
                                    const core::JobView& view, core::GpuModelId model);

}  // namespace sharewell::policy
