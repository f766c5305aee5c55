// A cluster of Slurm or of Kubernetes as ours: its nodes as they were when the server began, and
// the GPU models of all of them, so that those that are down may join later.
#pragma once

#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/runner.h"
#include "server/this_machine.h"

namespace sharewell::server {

// `models`: names of the catalogue.
core::Result<MachineHere> ClusterMachine(const std::vector<engine::RunnerNode>& nodes,
                                         const std::vector<std::string>& models,
                                         const catalogue::GpuCatalogue& catalogue);

// `catalogue` must outlive what is returned.
engine::GpuModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
