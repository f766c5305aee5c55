#include "policy/host_room.h"

namespace sharewell::policy {

bool HostHasRoom(const Context& context, const core::JobView& view, core::GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  const auto& node = cluster.node(cluster.NodeOf(gpu));
  const core::Bytes foreign = context.snapshot.foreign_memory(gpu);
  if (foreign > core::Bytes(0) &&
      context.ledger.memory_upper(gpu) + view.estimate.gpu_memory_upper >
          cluster.model(node.model).memory) {
    return false;
  }
  if (!node.memory_bandwidth && !node.pcie) return true;
  const core::Demand& own = view.estimate.On(node.model).demand;
  core::BytesPerSecond bandwidth = own.host_bandwidth;
  core::BytesPerSecond pcie = own.pcie;
  for (int k = 0; k < node.gpus; ++k) {
    const core::GpuId other(node.first_gpu.index() + static_cast<std::size_t>(k));
    for (core::JobId id : context.ledger.residents(other).jobs()) {
      const core::Demand& d = context.snapshot.job(id).estimate.On(node.model).demand;
      bandwidth += d.host_bandwidth;
      pcie += d.pcie;
    }
  }
  return (!node.memory_bandwidth || bandwidth <= *node.memory_bandwidth) &&
         (!node.pcie || pcie <= *node.pcie);
}

}  // namespace sharewell::policy
