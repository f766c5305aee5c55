#include "policy/sizing/adjust_cores.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sharewell::policy {
namespace {

using core::JobId;
using core::JobView;
namespace reason = core::reason;

constexpr std::size_t kMostGpusResized = 256;  // looking at all who run takes time

bool IsKnownByNow(const JobView& view) {
  return (view.profiled || view.told) && !view.cpu_only() && !view.job.cores_fixed;
}

}  // namespace

void AdjustCores(const core::Snapshot& snapshot, const Sizing& sizing, Ledger& ledger,
                 core::Plan& plan) {
  const auto& cluster = snapshot.cluster();
  if (!sizing.CpuJobsGiveWay() || cluster.gpu_count() > kMostGpusResized) return;
  std::vector<JobId> known;
  for (JobId id : snapshot.running()) {
    if (IsKnownByNow(snapshot.job(id))) known.push_back(id);
  }
  std::sort(known.begin(), known.end());
  for (JobId id : known) {
    const JobView& view = snapshot.job(id);
    const auto& gpus = view.allocation.gpus;
    const core::NodeId node = cluster.NodeOf(gpus.front());
    if (cluster.NodeOf(gpus.back()) != node) continue;
    core::Allocation to = view.allocation;
    to.cores = sizing.CoresAGpu(snapshot, view, cluster.node(node).model, 1) *
               static_cast<double>(gpus.size());
    const double free = std::floor(std::max(0.0, ledger.cores_free(snapshot, node)));
    to.cores = std::min(to.cores, view.allocation.cores + free);
    if (std::abs(to.cores - view.allocation.cores) < 0.5) continue;
    ledger.Vacate(snapshot, id, view.allocation);
    ledger.Occupy(snapshot, id, to);
    plan.resizes.push_back({id, to.cores,
                            view.profiled ? core::Reason(reason::MeasuredCores{})
                                          : core::Reason(reason::ToldCores{})});
  }
}

}  // namespace sharewell::policy
