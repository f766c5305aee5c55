// A node as a runner tells it, made one of the cluster that policies see.
#pragma once

#include "core/cluster.h"
#include "engine/runner.h"

namespace sharewell::engine {

// `model`: of its GPUs; meaningless where it has none.
inline core::Node ClusterNode(const RunnerNode& node, core::GpuModelId model) {
  core::Node out;
  out.name = node.name;
  out.model = model;
  out.gpus = static_cast<int>(node.gpus.size());
  out.cores = node.cores;
  out.memory = node.memory;
  out.islands = node.islands;
  out.exclusive = node.exclusive;
  out.reserved = node.reserved;
  return out;
}

}  // namespace sharewell::engine
