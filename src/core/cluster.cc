#include "core/cluster.h"

#include <algorithm>
#include <utility>

namespace sharewell::core {

Cluster::Cluster(std::vector<GpuModel> models, std::vector<Node> nodes)
    : models_(std::move(models)), by_model_(models_.size()) {
  nodes_.reserve(nodes.size());
  for (Node& node : nodes) Add(std::move(node));
}

NodeId Cluster::Add(Node node) {
  const NodeId id(nodes_.size());
  node.first_gpu = GpuId(gpu_node_.size());
  gpu_node_.insert(gpu_node_.end(), static_cast<std::size_t>(node.gpus), id);
  states_memory_ = states_memory_ || node.memory.has_value();
  if (node.gpus > 0) {
    ByModel& sums = by_model_[node.model.index()];
    sums.gpus += node.gpus;
    sums.largest = std::max(sums.largest, node.gpus);
    if (node.cores) {
      const double a_gpu = *node.cores / node.gpus;
      sums.cores_a_gpu = sums.cores_a_gpu ? std::min(*sums.cores_a_gpu, a_gpu) : a_gpu;
    }
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Cluster::ShareOutMemoryBandwidth(BytesPerSecond rate) {
  for (Node& node : nodes_) {
    const bool all = nodes_.size() == 1 || gpu_count() == 0;
    node.memory_bandwidth = all ? rate : rate * (node.gpus / static_cast<double>(gpu_count()));
  }
}

}  // namespace sharewell::core
