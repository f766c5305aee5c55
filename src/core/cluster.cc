#include "core/cluster.h"

#include <algorithm>
#include <utility>

namespace sharewell::core {

Cluster::Cluster(std::vector<GpuModel> models, std::vector<Node> nodes)
    : models_(std::move(models)), nodes_(std::move(nodes)), by_model_(models_.size()) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    node.first_gpu = GpuId(gpu_node_.size());
    gpu_node_.insert(gpu_node_.end(), static_cast<std::size_t>(node.gpus), NodeId(n));
    largest_node_ = std::max(largest_node_, node.gpus);
    if (node.gpus == 0) continue;
    ByModel& sums = by_model_[node.model.index()];
    sums.gpus += node.gpus;
    sums.largest = std::max(sums.largest, node.gpus);
    if (!node.cores) continue;
    const double a_gpu = *node.cores / node.gpus;
    sums.cores_a_gpu = sums.cores_a_gpu ? std::min(*sums.cores_a_gpu, a_gpu) : a_gpu;
  }
}

}  // namespace sharewell::core
