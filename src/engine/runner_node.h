// A node as a runner reports it, and as one of the cluster that policies see.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/gpu_islands.h"
#include "core/job/job_record.h"
#include "core/units.h"

namespace sharewell::engine {

// Its GPUs are of one model, which is one of those that the cluster was opened with.
struct RunnerNode {
  std::string name;
  double cores = 0;
  std::optional<core::Bytes> memory;
  std::vector<core::GivenGpu> gpus;
  core::GpuIslands islands;  // of them, by their order here
  core::Bytes gpu_memory{};  // of each
  bool exclusive = false;    // none of its GPUs can be shared
  bool reserved = false;     // only for jobs whose terms name it

  friend bool operator==(const RunnerNode&, const RunnerNode&) = default;
};

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
