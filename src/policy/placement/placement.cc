#include "policy/placement/placement.h"

#include <algorithm>
#include <cmath>

#include "core/sm_share.h"
#include "policy/idle_gpus.h"

namespace sharewell::policy {

using core::Allocation;
using core::GpuId;
using core::GpuModelId;
using core::JobView;

namespace {

// How many nodes a gang of that model spans where it is placed on wholly idle nodes.
int NodesSpanned(const core::Snapshot& snapshot, GpuModelId model, const JobView& view) {
  const int gpus = view.job.gpus;
  if (view.job.gpus_a_node > 0) return gpus / view.job.gpus_a_node;
  const int largest = snapshot.cluster().LargestNodeOf(model);
  return (gpus + largest - 1) / largest;
}

// Every node of that model has the host memory that was asked for, once it is empty.
bool AllNodesHoldAsked(const core::Cluster& cluster, const JobView& view, GpuModelId model) {
  if (!view.job.host_memory || !cluster.states_memory()) return true;
  return std::all_of(cluster.nodes().begin(), cluster.nodes().end(), [&](const core::Node& node) {
    return node.gpus == 0 || node.model != model || !node.memory ||
           core::HostMemoryAskedOn(view, std::min(view.job.gpus, node.gpus)) <= *node.memory;
  });
}

// Believed too large for that model, while another it may use holds it, and surely has the cores
// and the host memory.
bool BelongsElsewhere(const Context& context, const JobView& view, GpuModelId model) {
  const auto& cluster = context.snapshot.cluster();
  const auto holds = [&](GpuModelId m) {
    return view.estimate.gpu_memory_upper <= cluster.model(m).memory;
  };
  if (holds(model)) return false;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const GpuModelId other(m);
    if (!Allowed(view, other) || !holds(other) || cluster.CountOf(other) < view.job.gpus) continue;
    if (!AllNodesHoldAsked(cluster, view, other)) continue;
    const auto share = cluster.CoresAGpu(other);
    if (!share || *share >= context.sizing.CoresAGpu(context.snapshot, view, other, 1)) return true;
  }
  return false;
}

}  // namespace

std::optional<Allocation> OnIdleGpus(const Context& context, const JobView& view,
                                     GpuModelId model) {
  const int gpus = view.job.gpus;
  const IdleSearch search(context.snapshot, context.ledger, view, model);
  if (!search.MayFind()) return std::nullopt;
  if (!Allowed(view, model) || BelongsElsewhere(context, view, model)) return std::nullopt;
  const int nodes = gpus == 1 ? 1 : NodesSpanned(context.snapshot, model, view);
  const double cores = context.sizing.CoresAGpu(context.snapshot, view, model, nodes);
  auto idle = search.Find(cores);
  if (!idle) return std::nullopt;
  return Allocation{std::move(*idle), {}, cores * gpus, core::StandingShare(view)};
}

std::optional<Allocation> OnAnyIdleGpus(const Context& context, const JobView& view) {
  std::optional<Allocation> best;
  for (std::size_t m = 0; m < context.snapshot.cluster().models().size(); ++m) {
    auto found = OnIdleGpus(context, view, GpuModelId(m));
    if (found && (!best || found->gpus.front() < best->gpus.front())) best = std::move(found);
  }
  return best;
}

std::optional<Allocation> Beside(const Context& context, const JobView& view, GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  const core::NodeId node = cluster.NodeOf(gpu);
  if (!AllowedOn(cluster, view, node) || cluster.node(node).exclusive) return std::nullopt;
  const double cores = context.sizing.CoresAGpu(context.snapshot, view, cluster.ModelOf(gpu), 1);
  if (context.ledger.cores_for_training(context.snapshot, cluster.NodeOf(gpu)) + 1e-9 < cores) {
    return std::nullopt;
  }
  if (!context.ledger.HostMemorySuffices(context.snapshot, view, cluster.NodeOf(gpu), 1)) {
    return std::nullopt;
  }
  return Allocation{{gpu}, {}, cores, core::StandingShare(view)};
}

std::optional<double> CoresLacking(const Context& context, const JobView& view) {
  const auto& cluster = context.snapshot.cluster();
  if (std::isinf(context.ledger.most_cores())) return std::nullopt;  // some node states none
  std::optional<double> fewest;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const GpuModelId model(m);
    if (!Allowed(view, model) || cluster.CountOf(model) == 0) continue;
    const int nodes = NodesSpanned(context.snapshot, model, view);
    const int here = std::min(view.job.gpus, cluster.LargestNodeOf(model));
    const double cores = context.sizing.CoresAGpu(context.snapshot, view, model, nodes) * here;
    if (cores <= context.ledger.most_cores() + 1e-9) return std::nullopt;
    fewest = fewest ? std::min(*fewest, cores) : cores;
  }
  return fewest;
}

bool Feasible(const Context& context, const JobView& view) {
  const auto& cluster = context.snapshot.cluster();
  if (view.cpu_only()) {
    const double cores = view.job.cores.value_or(1);
    return std::any_of(cluster.nodes().begin(), cluster.nodes().end(), [&](const core::Node& node) {
      return (!node.cores || *node.cores >= cores) &&
             (!node.memory || HostMemoryAskedOn(view, 0) <= *node.memory);
    });
  }
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (OnIdleGpus(context, view, GpuModelId(m))) return true;
  }
  return false;
}

}  // namespace sharewell::policy
