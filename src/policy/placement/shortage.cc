#include "policy/placement/shortage.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::JobView;
using core::NodeId;
using core::Reason;

namespace reason = core::reason;

constexpr std::size_t kMostLookedAt = 64;

// It has idle GPUs for it, and not the cores: the node where least is missing.
std::optional<reason::NoCores> IdleWithoutCores(const Context& context, const JobView& view) {
  const auto& cluster = context.snapshot.cluster();
  std::optional<reason::NoCores> best;
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeId id(n);
    const core::Node& node = cluster.node(id);
    if (node.gpus == 0 || !Allowed(view, node.model)) continue;
    const int here = std::min(view.job.gpus, node.gpus);
    if (context.ledger.idle_gpus(id) < here) continue;
    const double wanted = context.sizing.CoresAGpu(context.snapshot, view, node.model, 1) * here;
    const double free = std::max(0.0, context.ledger.cores_for_training(context.snapshot, id));
    if (free + 1e-9 >= wanted) continue;
    if (!best || wanted - free < best->wanted - best->most_free) {
      best = reason::NoCores{wanted, free, id};
    }
  }
  return best;
}

// Nothing is known of what it needs where it may run: nobody is put beside it, nor it beside
// others.
bool IsUnknown(const Context& context, const JobView& view) {
  for (std::size_t m = 0; m < context.snapshot.cluster().models().size(); ++m) {
    const core::GpuModelId model(m);
    if (Allowed(view, model) && view.estimate.On(model).demand.known) return false;
  }
  return true;
}

int IdleGpusFor(const Context& context, const JobView& view) {
  const auto& cluster = context.snapshot.cluster();
  int idle = 0;
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const core::Node& node = cluster.nodes()[n];
    if (node.gpus > 0 && Allowed(view, node.model)) idle += context.ledger.idle_gpus(NodeId(n));
  }
  return idle;
}

// No GPU that others may join has the memory for it, by upper bounds or as predicted: the one with
// the most.
std::optional<reason::NoMemory> NoMemoryBeside(const Context& context, const JobView& view,
                                               bool upper) {
  const auto& cluster = context.snapshot.cluster();
  std::optional<reason::NoMemory> best;
  for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
    const GpuId gpu(g);
    const auto model = cluster.ModelOf(gpu);
    if (!Allowed(view, model) || !context.ledger.open(context.snapshot, gpu)) continue;
    const core::Bytes taken = upper ? context.ledger.memory_upper(gpu) : context.ledger.memory(gpu);
    const core::Bytes free = std::max(core::Bytes(0), cluster.model(model).memory - taken);
    const core::Bytes wanted =
        upper ? view.estimate.gpu_memory_upper : view.estimate.On(model).demand.gpu_memory;
    if (free >= wanted) return std::nullopt;
    if (!best || free > best->most_free) best = reason::NoMemory{wanted, free, gpu};
  }
  return best;
}

// What takes a look at each GPU or node is done there.
bool IsSmall(const core::Cluster& cluster) {
  return cluster.nodes().size() <= kMostLookedAt && cluster.gpu_count() <= kMostLookedAt;
}

}  // namespace

std::optional<reason::NoHostMemory> NoHostMemory(const Context& context, const JobView& view) {
  const auto& cluster = context.snapshot.cluster();
  if (!cluster.states_memory() || !IsSmall(cluster)) return std::nullopt;
  std::optional<reason::NoHostMemory> anywhere, idle;
  bool found = false, found_idle = false;
  const auto nearer = [](std::optional<reason::NoHostMemory>& best,
                         const reason::NoHostMemory& other) {
    if (!best || other.wanted - other.most_free < best->wanted - best->most_free) best = other;
  };
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeId id(n);
    const core::Node& node = cluster.node(id);
    if (node.gpus == 0 || !Allowed(view, node.model)) continue;
    const int here = std::min(view.job.gpus, node.gpus);
    const bool is_idle = context.ledger.idle_gpus(id) >= here;
    if (context.ledger.HostMemorySuffices(context.snapshot, view, id, here)) {
      found = true;
      found_idle = found_idle || is_idle;
      continue;
    }
    const core::Bytes free =
        std::max(core::Bytes(0), context.ledger.host_memory_for_training(context.snapshot, id));
    const reason::NoHostMemory lacks{core::HostMemoryOn(node, view, here), free, id};
    nearer(anywhere, lacks);
    if (is_idle) nearer(idle, lacks);
  }
  if (!found) return anywhere;
  return found_idle ? std::nullopt : idle;
}

Reason ShortOf(const Context& context, const JobView& view, Reason said) {
  const auto& cluster = context.snapshot.cluster();
  const bool small = IsSmall(cluster);
  if (std::holds_alternative<reason::NoGoodNeighbour>(said) && IsUnknown(context, view)) {
    said = reason::NoIdleGpu{};
  }
  if (auto* gpus = std::get_if<reason::NoIdleGpu>(&said); small && gpus != nullptr) {
    *gpus = {view.job.gpus, IdleGpusFor(context, view)};
    if (gpus->idle < gpus->wanted) return said;  // whatever else lacks, it would wait for these
  }
  if (const auto wanted = CoresLacking(context, view)) {
    const NodeId most = context.ledger.node_with_most_cores();
    return reason::NoCores{*wanted, std::max(0.0, context.ledger.most_cores()), most};
  }
  if (!small) return said;
  if (const auto cores = IdleWithoutCores(context, view)) return *cores;
  if (const auto memory = NoHostMemory(context, view)) return *memory;
  if (context.snapshot.any_foreign_memory() && IdleGpusFor(context, view) >= view.job.gpus &&
      !OnAnyIdleGpus(context, view)) {
    // Idle but for strangers, who hold too much of its memory.
    return reason::NoIdleGpu{view.job.gpus, IdleGpusFor(context, view)};
  }
  if (cluster.models().size() > 1 && OnAnyIdleGpus(context, view)) {
    return reason::WaitsForFaster{};
  }
  const bool upper = std::holds_alternative<reason::NoGoodNeighbour>(said);
  if (upper || std::holds_alternative<reason::NoRoom>(said)) {  // pack goes by predictions
    if (const auto memory = NoMemoryBeside(context, view, upper)) return *memory;
  }
  return said;
}

}  // namespace sharewell::policy
