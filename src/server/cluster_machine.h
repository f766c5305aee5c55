// A cluster of Slurm or of Kubernetes as ours: its nodes as they were when the server began, and
// the GPU models of all of them, so that those that are down may join later.
#pragma once

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/cluster_runner.h"
#include "server/live/this_machine.h"

namespace sharewell::server {

// Its models are names of the catalogue.
core::Result<MachineHere> ClusterMachine(const engine::OpenedCluster& opened,
                                         const catalogue::GpuCatalogue& catalogue);

// `catalogue` must outlive what is returned.
engine::GpuModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
