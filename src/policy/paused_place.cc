#include "policy/paused_place.h"

#include <algorithm>

namespace sharewell::policy {

using core::GpuId;
using core::JobView;

namespace reason = core::reason;

Choice PausedPlace(const core::Snapshot& snapshot, const Ledger& ledger, const JobView& view) {
  const auto& to = view.allocation;
  const auto& cluster = snapshot.cluster();
  const auto taken = [&](GpuId gpu) {
    return ledger.residents(gpu).count() > 0 || ledger.closed(cluster.NodeOf(gpu));
  };
  const auto free =
      std::count_if(to.gpus.begin(), to.gpus.end(), [&](GpuId gpu) { return !taken(gpu); });
  if (static_cast<std::size_t>(free) < to.gpus.size()) {
    return reason::NoIdleGpu{static_cast<int>(to.gpus.size()), static_cast<int>(free)};
  }
  for (std::size_t i = 0; i < to.gpus.size(); ++i) {
    const core::NodeId node = cluster.NodeOf(to.gpus[i]);
    if (i > 0 && node == cluster.NodeOf(to.gpus[i - 1])) continue;
    const double wanted = core::Snapshot::CoresOn(cluster, to, node);
    const double has = ledger.cores_for_training(snapshot, node);
    if (cluster.node(node).cores && wanted > has + 1e-9) {
      return reason::NoCores{wanted, has, node};
    }
    const auto here = static_cast<int>(std::count_if(
        to.gpus.begin(), to.gpus.end(), [&](GpuId gpu) { return cluster.NodeOf(gpu) == node; }));
    if (!ledger.HostMemorySuffices(snapshot, view, node, here)) {
      return reason::NoHostMemory{core::HostMemoryOn(cluster.node(node), view, here),
                                  std::max(core::Bytes(0), ledger.host_memory_free(snapshot, node)),
                                  node};
    }
  }
  return Chosen{to, reason::Order{}, {}};
}

bool MayPause(const core::Snapshot& snapshot, const JobView& view) {
  const auto& gpus = view.allocation.gpus;
  return !gpus.empty() && std::all_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
    return snapshot.residents(gpu).count() == 1;
  });
}

bool TooSoonToPause(const core::Snapshot& snapshot, const JobView& view, const Options& options) {
  return options.pauses_runs && view.state == core::JobState::kRunning && !view.cpu_only() &&
         snapshot.now() < view.since + options.pause_after;
}

}  // namespace sharewell::policy
