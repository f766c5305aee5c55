// What the backends of Slurm and of Kubernetes have in common: their nodes as ours, and agents on
// the nodes, heard by the store that they write into.
#pragma once

#include <memory>
#include <string>

#include "catalogue/gpu_catalogue.h"
#include "core/cluster.h"
#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/cluster_runner.h"
#include "server/backend.h"
#include "server/cluster_agents.h"
#include "server/cluster_monitor.h"

namespace sharewell::server {

std::unique_ptr<ClusterMonitor> NewClusterMonitor(const ServerOptions& options);
std::unique_ptr<ClusterAgents> NewClusterAgents(const ServerOptions& options);

// Puts a cluster that was opened into the face: its nodes as they were then, and the GPU models of
// all of them, so that those that are down may join later. Models are names of the catalogue.
core::Result<void> ShowCluster(engine::ClusterRunner& runner, ClusterMonitor& monitor,
                               const catalogue::GpuCatalogue& catalogue, BackendFace& face);

// "2 nodes are up, with 4 H200 and 8 V100"
std::string NodesThatAreUp(const core::Cluster& cluster);

// `catalogue` must outlive what is returned.
engine::GpuModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
