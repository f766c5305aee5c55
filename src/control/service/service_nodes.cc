// GPUs and nodes that come and go, and what keeps those from being used that are not there.
#include <algorithm>
#include <cmath>
#include <utility>

#include "control/service/service_impl.h"
#include "engine/runner_node.h"

namespace sharewell::control {

using core::Phase;

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

void Service::Impl::Handle(const engine::GpuLost& event) {
  const auto gpu = gpus.WithUuid(event.gpu);
  if (!gpu || !gpus.SetProblem(*gpu, event.why)) return;
  Say("gpu.lost", 0, fmt::format("GPU {}: {}", core::NameOf(gpus.gpu(*gpu)), event.why));
}

void Service::Impl::Handle(const engine::GpuBack& event) {
  const auto gpu = gpus.WithUuid(event.gpu);
  if (!gpu || !gpus.SetProblem(*gpu, {})) return;
  Say("gpu.back", 0, fmt::format("GPU {}: it answers again", core::NameOf(gpus.gpu(*gpu))));
}

void Service::Impl::Handle(const engine::NodeWent& event) {
  const auto node = NodeNamed(cluster, event.node);
  if (!node) return;
  const std::string why =
      fmt::format("node {}: {}", event.node, event.why.empty() ? "it is gone" : event.why);
  node_is_down[node->index()] = true;
  const core::Node& known = cluster.node(*node);
  for (std::size_t i = 0; i < static_cast<std::size_t>(known.gpus); ++i) {
    gpus.SetProblem(core::GpuId(known.first_gpu.index() + i), why);
  }
  Say("node.lost", 0, why);
  engine.Wake();  // decide without it
}

void Service::Impl::Handle(const engine::NodeCame& event) {
  const engine::RunnerNode& came = event.node;
  const auto node = NodeNamed(cluster, came.name);
  if (!node) return AddNode(came);
  const core::Node& known = cluster.node(*node);
  // One that went and came again as another machine: the next list tells it anew.
  if (came.gpus.size() != static_cast<std::size_t>(known.gpus)) return;
  node_is_down[node->index()] = false;
  if (known.reserved != came.reserved || known.exclusive != came.exclusive) {
    KeepNode(*node, came.reserved, came.exclusive);
  }
  for (std::size_t i = 0; i < came.gpus.size(); ++i) {
    const core::GpuId gpu(known.first_gpu.index() + i);
    gpus.SetGpu(gpu, came.gpus[i]);
    gpus.SetProblem(gpu, {});
  }
  Say("node.back", 0, fmt::format("node {}: it is back", came.name));
  engine.Wake();  // decide with it
}

void Service::Impl::Handle(const engine::NodeChanged& event) {
  const auto node = NodeNamed(cluster, event.node);
  if (!node) return;
  const core::Node& known = cluster.node(*node);
  const bool reserves = known.reserved != event.reserved;
  if (!reserves && event.exclusive && !event.why.empty()) {
    not_shared[*node] = event.why;
  } else if (!event.exclusive) {
    not_shared.erase(*node);
  }
  const bool same = !reserves && known.exclusive == event.exclusive;
  if (same && event.why.empty()) return;
  KeepNode(*node, event.reserved, event.exclusive);
  const char* how = reserves ? (event.reserved ? "node.reserved" : "node.free")
                             : (event.exclusive ? "node.exclusive" : "node.shared");
  if (!event.why.empty()) Say(how, 0, fmt::format("node {}: {}", event.node, event.why));
  engine.Wake();
}

// Who decides begins anew.
void Service::Impl::KeepNode(core::NodeId id, bool reserved, bool exclusive) {
  cluster.SetReserved(id, reserved);
  cluster.SetExclusive(id, exclusive);
  cluster_copy = nullptr;
  // As it is now nobody has tried its GPUs.
  const core::Node& now = cluster.node(id);
  for (std::size_t i = 0; i < static_cast<std::size_t>(now.gpus); ++i) {
    const core::GpuId gpu(now.first_gpu.index() + i);
    loop->SetForeignMemory(gpu, snapshot.foreign_memory(gpu));
  }
  loop->Follow(advisor.Policy());
}

void Service::Impl::Handle(const engine::HostTaken& event) {
  const auto node = NodeNamed(cluster, event.node);
  if (!node) return;
  loop->SetForeignHost(*node, event.cores, event.memory);
  engine.Wake();  // decide with it, or without
}

void Service::Impl::AddNode(const engine::RunnerNode& node) {
  const auto model = ModelOf(node, cluster);
  if (!model) {
    return Say("node.unusable", 0,
               fmt::format("node {} is not used: its GPUs must be of one model that this server "
                           "knows, and the first is {}",
                           node.name, node.gpus[0].model));
  }
  cluster.Add(engine::ClusterNode(node, *model));
  cluster_copy = nullptr;
  for (const core::GivenGpu& gpu : node.gpus) {
    GpuView added_gpu;
    added_gpu.gpu = gpu;
    added_gpu.memory = node.gpu_memory;
    gpus.Add(std::move(added_gpu));
  }
  if (const auto drained = jobs.Kept("drained")) gpus.ReadDrained(drained->value_or(""));
  reserved_gpus.resize(gpus.size());
  reserved_nodes.resize(cluster.nodes().size());
  node_is_down.resize(cluster.nodes().size());
  loop->Grow();
  engine.AddNode(node);
  Say("node.joined", 0,
      fmt::format("node {} with {} GPUs is used from now on", node.name, node.gpus.size()));
  TryHeldAgain();
  engine.Wake();
}

// Nodes that were down when the server came join one by one: what was too large for those that were
// there may fit now. Nobody else would let it go.
void Service::Impl::TryHeldAgain() {
  if (!runner.HasUsers()) return;
  for (const JobPtr& shown : board.Live()) {
    const bool too_large = shown->reason.starts_with("held until there are nodes for it") ||
                           shown->reason.starts_with("held, as this machine is not what it was");
    LiveJob* job = shown->phase == Phase::kHeld && too_large ? live.Find(shown->number) : nullptr;
    if (job == nullptr || job->record.phase != Phase::kHeld) continue;
    if (!advisor.Check(job->record.asked)) continue;
    job->record.phase = Phase::kWaiting;
    job->record.asked.held = false;
    job->record.reason.clear();
    outbox.Touch(*job);
    Enqueue(job->record.number);
  }
}

void Service::Impl::LookAtStrangers() {
  if (monitor == nullptr) return;
  bool changed = false;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const core::GpuId gpu(i);
    std::vector<Stranger> strangers = monitor->StrangersOn(gpus.gpu(gpu).uuid);
    core::Bytes held;
    for (const Stranger& one : strangers) held += one.memory;
    const bool came = gpus.views()[i].strangers.empty(), busy = gpus.views()[i].kept_busy();
    if (!gpus.SetStrangers(gpu, std::move(strangers))) continue;
    engine.Wake();  // decide with it, and show it
    const GpuView& now = gpus.views()[i];
    // What hardly changes is not worth a new look of the policy at everything.
    const double moved = std::abs((held - snapshot.foreign_memory(gpu)).value);
    if (moved > kForeignDust.value || held <= core::Bytes(0)) loop->SetForeignMemory(gpu, held);
    changed = changed || busy != now.kept_busy();
    if (came != now.strangers.empty() || busy != now.kept_busy()) {
      Say("gpu.strangers", 0,
          fmt::format("GPU {}: {}", core::NameOf(now.gpu),
                      now.strangers.empty() ? "other processes are gone"
                      : now.kept_busy()     ? "kept busy by " + InWords(now.strangers)
                                            : InWords(now.strangers)));
    }
  }
  if (changed) SeatReservations();
}

void Service::Impl::SeatReservations() {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Reserve(reserved_gpus[i], !gpus.usable(core::GpuId(i)), 1, {{core::GpuId(i)}, {}, 0});
  }
  for (std::size_t i = 0; i < reserved_nodes.size(); ++i) {
    const core::NodeId node(i);
    Reserve(reserved_nodes[i], node_is_down[i], 0,
            {{}, node, cluster.node(node).cores.value_or(0)});
  }
}

void Service::Impl::Reserve(core::JobId& by, bool unusable, int gpus_taken,
                            const core::Allocation& where) {
  if (unusable == by.valid()) return;
  if (!unusable) {
    loop->Unseat(std::exchange(by, {}));
    engine.Wake();  // somebody may have waited for it
    return;
  }
  core::Job job;
  job.id = by = live.GiveIdToNobody();
  job.name = "unusable";
  job.gpus = gpus_taken;
  job.exclusive = true;
  job.placeholder = true;
  job.priority = kAboveAll;
  job.submit = snapshot.now();
  loop->Seat(std::move(job), advisor.EstimateOf({}), where);
}

}  // namespace sharewell::control
