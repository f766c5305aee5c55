#include "control/service/runs/node_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/text/quoted.h"
#include "engine/runner_node.h"

namespace sharewell::control {

using core::FailedError;
using core::Result;
using core::UsageError;

namespace {

constexpr core::Bytes kForeignDust{64.0 * (1 << 20)};
constexpr int kAboveAll = 1'000'000'000;  // a priority: no order takes its place away

std::optional<core::NodeId> NodeNamed(const core::Cluster& cluster, const std::string& name) {
  const auto& nodes = cluster.nodes();
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const core::Node& node) { return node.name == name; });
  if (found == nodes.end()) return std::nullopt;
  return core::NodeId(static_cast<std::size_t>(found - nodes.begin()));
}

// Absent: the cluster does not know it, or there are several.
std::optional<core::GpuModelId> ModelOf(const engine::RunnerNode& node,
                                        const core::Cluster& cluster) {
  if (node.gpus.empty()) return core::GpuModelId();
  const auto same = [&](const core::GivenGpu& gpu) { return gpu.model == node.gpus[0].model; };
  if (!std::all_of(node.gpus.begin(), node.gpus.end(), same)) return std::nullopt;
  for (std::size_t i = 0; i < cluster.models().size(); ++i) {
    if (cluster.models()[i].name == node.gpus[0].model) return core::GpuModelId(i);
  }
  return std::nullopt;
}

}  // namespace

NodeKeeper::NodeKeeper(const Parts& parts)
    : parts_(parts),
      gpus_(parts.state.gpus),
      reserved_gpus_(gpus_.size()),
      reserved_nodes_(parts.state.cluster.nodes().size()),
      node_is_down_(parts.state.cluster.nodes().size()) {}

Result<void> NodeKeeper::ReadDrained() {
  const auto drained = parts_.store.Kept("drained");
  RETURN_IF_ERROR(drained);
  gpus_.ReadDrained(drained->value_or(""));
  return {};
}

Result<void> NodeKeeper::Drain(const std::string& name, bool drained, const core::Account& who) {
  const auto found = gpus_.Named(name);
  if (!found)
    return UsageError("there is no GPU {}; `sharewell top` lists them", core::Quoted(name));
  if (!who.admin) return FailedError("draining a GPU is for admins");
  if (gpus_.views()[found->index()].drained == drained) return {};
  store::JobChanges changes;
  changes.kept.emplace_back("drained", gpus_.DrainedText(*found, drained));
  changes.events.push_back({0, parts_.journal.Wall(), drained ? "gpu.drained" : "gpu.undrained", 0,
                            fmt::format("GPU {} {}", core::NameOf(gpus_.gpu(*found)),
                                        drained ? "takes no new jobs" : "takes jobs again")});
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) {
    // It may have been stored.
    parts_.journal.outbox().AddKept("drained", gpus_.DrainedText(*found, !drained));
    return kept;
  }
  gpus_.SetDrained(*found, drained);
  SeatReservations();
  parts_.view.Publish();
  return {};
}

void NodeKeeper::SetMemoryBandwidth(core::BytesPerSecond rate) {
  parts_.state.cluster.ShareOutMemoryBandwidth(rate);
  parts_.view.OnNewCluster();
}

void NodeKeeper::Hear(const engine::GpuLost& event) {
  const auto gpu = gpus_.WithUuid(event.gpu);
  if (!gpu || !gpus_.SetProblem(*gpu, event.why)) return;
  parts_.journal.Emit("gpu.lost", 0,
                      fmt::format("GPU {}: {}", core::NameOf(gpus_.gpu(*gpu)), event.why));
}

void NodeKeeper::Hear(const engine::GpuBack& event) {
  const auto gpu = gpus_.WithUuid(event.gpu);
  if (!gpu || !gpus_.SetProblem(*gpu, {})) return;
  parts_.journal.Emit("gpu.back", 0,
                      fmt::format("GPU {}: it answers again", core::NameOf(gpus_.gpu(*gpu))));
}

void NodeKeeper::Hear(const engine::GpuTaken& event) {
  const auto gpu = gpus_.WithUuid(event.gpu);
  if (gpu && node_is_down_[parts_.state.cluster.NodeOf(*gpu).index()])
    return;  // gone with its node
  if (!gpu || !gpus_.SetProblem(*gpu, event.by)) return;
  parts_.journal.Emit(
      event.by.empty() ? "gpu.back" : "gpu.taken", 0,
      fmt::format("GPU {}: {}", event.gpu, event.by.empty() ? "it is free" : event.by));
  parts_.engine.Wake();  // decide with it, or without
}

void NodeKeeper::Hear(const engine::NodeWent& event) {
  const auto node = NodeNamed(parts_.state.cluster, event.node);
  if (!node) return;
  const std::string why =
      fmt::format("node {}: {}", event.node, event.why.empty() ? "it is gone" : event.why);
  node_is_down_[node->index()] = true;
  const core::Node& known = parts_.state.cluster.node(*node);
  for (std::size_t i = 0; i < static_cast<std::size_t>(known.gpus); ++i) {
    gpus_.SetProblem(core::GpuId(known.first_gpu.index() + i), why);
  }
  parts_.journal.Emit("node.lost", 0, why);
  parts_.engine.Wake();  // decide without it
}

void NodeKeeper::Hear(const engine::NodeCame& event) {
  const engine::RunnerNode& came = event.node;
  const auto node = NodeNamed(parts_.state.cluster, came.name);
  if (!node) return Add(came);
  const core::Node& known = parts_.state.cluster.node(*node);
  // One that went and came again as another machine: the next list tells it anew.
  if (came.gpus.size() != static_cast<std::size_t>(known.gpus)) return;
  const bool was_down = node_is_down_[node->index()];
  node_is_down_[node->index()] = false;
  if (known.reserved != came.reserved || known.exclusive != came.exclusive) {
    Keep(*node, came.reserved, came.exclusive);
  }
  for (std::size_t i = 0; i < came.gpus.size(); ++i) {
    const core::GpuId gpu(known.first_gpu.index() + i);
    gpus_.SetGpu(gpu, came.gpus[i]);
    gpus_.SetProblem(gpu, {});
  }
  parts_.journal.Emit(
      was_down ? "node.back" : "node.changed", 0,
      fmt::format("node {}: {}", came.name, was_down ? "it is back" : "it has other GPUs"));
  parts_.engine.Wake();  // decide with it
}

void NodeKeeper::Hear(const engine::NodeChanged& event) {
  const auto node = NodeNamed(parts_.state.cluster, event.node);
  if (!node) return;
  const core::Node& known = parts_.state.cluster.node(*node);
  const bool reserves = known.reserved != event.reserved;
  if (!reserves && event.exclusive && !event.why.empty()) {
    not_shared_[*node] = event.why;
  } else if (!event.exclusive) {
    not_shared_.erase(*node);
  }
  const bool same = !reserves && known.exclusive == event.exclusive;
  if (same && event.why.empty()) return;
  Keep(*node, event.reserved, event.exclusive);
  const char* how = reserves ? (event.reserved ? "node.reserved" : "node.free")
                             : (event.exclusive ? "node.exclusive" : "node.shared");
  if (!event.why.empty())
    parts_.journal.Emit(how, 0, fmt::format("node {}: {}", event.node, event.why));
  parts_.engine.Wake();
}

// Who decides begins anew.
void NodeKeeper::Keep(core::NodeId id, bool reserved, bool exclusive) {
  parts_.state.cluster.SetReserved(id, reserved);
  parts_.state.cluster.SetExclusive(id, exclusive);
  parts_.view.OnNewCluster();
  // As it is now nobody has tried its GPUs.
  const core::Node& now = parts_.state.cluster.node(id);
  for (std::size_t i = 0; i < static_cast<std::size_t>(now.gpus); ++i) {
    const core::GpuId gpu(now.first_gpu.index() + i);
    parts_.loop.SetForeignMemory(gpu, parts_.state.snapshot.foreign_memory(gpu));
  }
  parts_.loop.Follow(parts_.advisor.Policy());
}

void NodeKeeper::Hear(const engine::HostTaken& event) {
  const auto node = NodeNamed(parts_.state.cluster, event.node);
  if (!node) return;
  parts_.loop.SetForeignHost(*node, event.cores, event.memory);
  parts_.engine.Wake();  // decide with it, or without
}

void NodeKeeper::Add(const engine::RunnerNode& node) {
  const auto model = ModelOf(node, parts_.state.cluster);
  if (!model) {
    return parts_.journal.Emit(
        "node.unusable", 0,
        fmt::format("node {} is not used: its GPUs must be of one model that this server "
                    "knows, and the first is {}",
                    node.name, node.gpus[0].model));
  }
  parts_.state.cluster.Add(engine::ClusterNode(node, *model));
  parts_.view.OnNewCluster();
  for (const core::GivenGpu& gpu : node.gpus) {
    GpuView added_gpu;
    added_gpu.gpu = gpu;
    added_gpu.memory = node.gpu_memory;
    gpus_.Add(std::move(added_gpu));
  }
  (void)ReadDrained();  // those that cannot be read are not drained
  reserved_gpus_.resize(gpus_.size());
  reserved_nodes_.resize(parts_.state.cluster.nodes().size());
  node_is_down_.resize(parts_.state.cluster.nodes().size());
  parts_.loop.Grow();
  parts_.engine.AddNode(node);
  parts_.journal.Emit(
      "node.joined", 0,
      fmt::format("node {} with {} GPUs is used from now on", node.name, node.gpus.size()));
  parts_.queue.TryHeldAgain();
  parts_.engine.Wake();
}

void NodeKeeper::LookAtStrangers() {
  if (parts_.monitor == nullptr) return;
  bool changed = false;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const core::GpuId gpu(i);
    std::vector<Stranger> strangers = parts_.monitor->StrangersOn(gpus_.gpu(gpu).uuid);
    core::Bytes held;
    for (const Stranger& one : strangers) held += one.memory;
    const bool came = gpus_.views()[i].strangers.empty(), busy = gpus_.views()[i].kept_busy();
    if (!gpus_.SetStrangers(gpu, std::move(strangers))) continue;
    parts_.engine.Wake();  // decide with it, and show it
    const GpuView& now = gpus_.views()[i];
    // What hardly changes is not worth a new look of the policy at everything.
    const double moved = std::abs((held - parts_.state.snapshot.foreign_memory(gpu)).value);
    if (moved > kForeignDust.value || held <= core::Bytes(0))
      parts_.loop.SetForeignMemory(gpu, held);
    changed = changed || busy != now.kept_busy();
    if (came != now.strangers.empty() || busy != now.kept_busy()) {
      parts_.journal.Emit("gpu.strangers", 0,
                          fmt::format("GPU {}: {}", core::NameOf(now.gpu),
                                      now.strangers.empty() ? "other processes are gone"
                                      : now.kept_busy() ? "kept busy by " + InWords(now.strangers)
                                                        : InWords(now.strangers)));
    }
  }
  if (changed) SeatReservations();
}

void NodeKeeper::SeatReservations() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    Reserve(reserved_gpus_[i], !gpus_.usable(core::GpuId(i)), 1, {{core::GpuId(i)}, {}, 0});
  }
  for (std::size_t i = 0; i < reserved_nodes_.size(); ++i) {
    const core::NodeId node(i);
    Reserve(reserved_nodes_[i], node_is_down_[i], 0,
            {{}, node, parts_.state.cluster.node(node).cores.value_or(0)});
  }
}

void NodeKeeper::Reserve(core::JobId& by, bool unusable, int gpus_taken,
                         const core::Allocation& where) {
  if (unusable == by.valid()) return;
  if (!unusable) {
    parts_.loop.Unseat(std::exchange(by, {}));
    parts_.engine.Wake();  // somebody may have waited for it
    return;
  }
  core::Job job;
  job.id = by = parts_.state.live.GiveIdToNobody();
  job.name = "unusable";
  job.gpus = gpus_taken;
  job.exclusive = true;
  job.placeholder = true;
  job.priority = kAboveAll;
  job.submit = parts_.state.snapshot.now();
  parts_.loop.Seat(std::move(job), parts_.advisor.EstimateOf({}), where);
}

void NodeKeeper::Renumber(const core::Renumbering& ids) {
  for (auto* reserved : {&reserved_gpus_, &reserved_nodes_}) {
    for (core::JobId& by : *reserved) by = ids.Of(by);
  }
}

}  // namespace sharewell::control
