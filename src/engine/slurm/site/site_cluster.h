// The nodes of a Slurm partition as a cluster of ours (docs/formats/cluster.md), for the simulator.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// Nodes that are alike are one entry. The model of most GPUs is first: durations are taken as times
// on it. An error: nobody knows the model of a node's GPUs, or there are none.
core::Result<std::string> SiteClusterText(const std::vector<SlurmNode>& nodes,
                                          const GpuModelNamed& named);

}  // namespace sharewell::engine
