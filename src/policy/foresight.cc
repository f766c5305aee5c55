#include "policy/foresight.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "policy/order/order.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::JobId;
using core::JobView;

// Seconds until `count` of the node's GPUs are idle.
double FreeIn(const core::Snapshot& snapshot, const Ledger& ledger, const core::Node& node,
              int count) {
  constexpr double kLeastRate = 0.05;
  std::vector<double> ends;
  for (int k = 0; k < node.gpus; ++k) {
    double end = 0;
    const GpuId gpu(node.first_gpu.index() + static_cast<std::size_t>(k));
    for (JobId id : ledger.residents(gpu).jobs()) {
      const JobView& view = snapshot.job(id);
      if (view.job.placeholder) end = std::numeric_limits<double>::infinity();
      // What runs is seen; what this plan has just put there is believed to run as if alone.
      const bool seen = view.state == core::JobState::kRunning && view.rate > 0;
      const double rate = seen ? view.rate : view.estimate.On(node.model).rate;
      end = std::max(end, ExpectedRemaining(snapshot, view) / std::max(rate, kLeastRate));
    }
    ends.push_back(end);
  }
  std::nth_element(ends.begin(), ends.begin() + (count - 1), ends.end());
  return ends[static_cast<std::size_t>(count - 1)];
}

}  // namespace

std::optional<SoonFree> SoonestFree(const core::Snapshot& snapshot, const Ledger& ledger,
                                    const JobView& view, core::GpuModelId model) {
  const auto& cluster = snapshot.cluster();
  const int gpus = view.job.gpus;
  if (!Allowed(view, model) || cluster.CountOf(model) < gpus) return std::nullopt;
  const bool one_node = gpus <= cluster.LargestNodeOf(model);
  std::vector<std::pair<double, std::uint32_t>> free_in;
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const auto& node = cluster.nodes()[n];
    if (node.gpus == 0 || node.model != model || (one_node && node.gpus < gpus)) continue;
    const int here = std::min(node.gpus, gpus);
    if (node.memory && core::HostMemoryAskedOn(view, here) > *node.memory) continue;
    free_in.emplace_back(FreeIn(snapshot, ledger, node, here), static_cast<std::uint32_t>(n));
  }
  std::sort(free_in.begin(), free_in.end());
  SoonFree out;
  int needed = gpus;
  for (const auto& [when, n] : free_in) {
    if (needed <= 0) break;
    out.nodes.push_back(core::NodeId(n));
    out.in = core::Seconds(when);
    needed -= cluster.nodes()[n].gpus;
  }
  if (needed > 0 || !std::isfinite(out.in.value)) return std::nullopt;
  return out;
}

}  // namespace sharewell::policy
