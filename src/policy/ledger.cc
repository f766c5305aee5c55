#include "policy/ledger.h"

#include <algorithm>
#include <limits>

#include "core/sm_share.h"

namespace sharewell::policy {

using core::Allocation;
using core::GpuId;
using core::GpuModelId;
using core::JobId;
using core::JobView;
using core::MaxTree;
using core::NodeId;
using core::Snapshot;

namespace {
constexpr double kClosed = OpenGpus::kClosed;
// Of a GPU's memory, beside strangers: of a job that nobody knows all of it would be assumed, and a
// desktop's 200 MB would keep it waiting for ever.
constexpr core::Ratio kUnknownNeeds = 0.9;
}  // namespace

// Jobs of several GPUs go at the pace of the slowest of them, so that one neighbour would slow all.
bool MayShare(const JobView& view) { return view.job.gpus == 1 && !view.must_be_alone(); }

bool Allowed(const JobView& view, GpuModelId model) {
  const auto& allowed = view.job.allowed_models;
  return view.estimate.On(model).rate > 0 &&
         (allowed.empty() || std::find(allowed.begin(), allowed.end(), model) != allowed.end());
}

bool AllowedOn(const core::Cluster& cluster, const JobView& view, NodeId node) {
  const auto& allowed = view.job.allowed_nodes;
  if (allowed.empty()) return !cluster.node(node).reserved;
  return std::binary_search(allowed.begin(), allowed.end(), node);
}

Ledger::Ledger(const Snapshot& snapshot, int max_jobs_on_gpu, bool cpu_jobs_give_way)
    : max_jobs_(max_jobs_on_gpu), cpu_jobs_give_way_(cpu_jobs_give_way) {
  Rebuild(snapshot);
}

void Ledger::Empty(const Snapshot& snapshot, bool nobody) {
  const auto& cluster = snapshot.cluster();
  const std::size_t gpus = cluster.gpu_count();
  const std::size_t nodes = cluster.nodes().size();
  residents_.assign(gpus, {});
  load_.assign(gpus, 0.0);
  memory_.assign(gpus, {});
  memory_upper_.assign(gpus, {});
  strangers_ = !nobody && snapshot.any_foreign_memory();
  nobody_ = nobody;
  cores_used_.assign(nodes, 0.0);
  cpu_only_cores_.assign(nodes, 0.0);
  host_memory_used_.assign(nodes, {});
  cpu_only_memory_.assign(nodes, {});
  cores_tree_ = MaxTree(nodes);
  for (std::size_t n = 0; n < nodes; ++n) {
    AddCores(snapshot, NodeId(n), nobody ? 0 : snapshot.cpu_only_cores(NodeId(n)), true);
    if (nobody) continue;
    host_memory_used_[n] = cpu_only_memory_[n] = snapshot.cpu_only_memory(NodeId(n));
  }
  idle_.assign(nodes, 0);
  planned_.Clear();
  closed_.assign(nodes, false);
  closed_nodes_.clear();
  idle_total_ = 0;
  idle_tree_.assign(cluster.models().size(), MaxTree(nodes));
  open_.assign(cluster.models().size(), OpenGpus(gpus));
  room_.assign(gpus, {});
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto& node = cluster.nodes()[n];
    if (node.gpus == 0) continue;
    SetIdle(snapshot, NodeId(n), node.gpus);
  }
}

void Ledger::Rebuild(const Snapshot& snapshot) {
  Empty(snapshot, false);
  for (std::size_t n = 0; n < cores_used_.size(); ++n) {
    AddCores(snapshot, NodeId(n), snapshot.cores_used(NodeId(n)) - cores_used_[n], false);
    TakeMemory(snapshot, NodeId(n));
  }
  for (std::size_t g = 0; g < residents_.size(); ++g) {
    if (snapshot.residents(GpuId(g)).count() == 0) continue;
    residents_[g] = snapshot.residents(GpuId(g));
    const NodeId node = snapshot.cluster().NodeOf(GpuId(g));
    SetIdle(snapshot, node, idle_[node.index()] - 1);
    Reindex(snapshot, GpuId(g));
  }
}

void Ledger::Refresh(const Snapshot& snapshot, const JobView& view) {
  if (view.allocation.gpus.empty()) {
    if (const NodeId node = view.allocation.node; node.valid()) {
      cpu_only_cores_[node.index()] = snapshot.cpu_only_cores(node);
      AddCores(snapshot, node, snapshot.cores_used(node) - cores_used_[node.index()], false);
      TakeMemory(snapshot, node);
    }
    return;
  }
  for (GpuId gpu : view.allocation.gpus) {
    const NodeId node = snapshot.cluster().NodeOf(gpu);
    AddCores(snapshot, node, snapshot.cores_used(node) - cores_used_[node.index()], false);
    TakeMemory(snapshot, node);
    const bool was_idle = residents_[gpu.index()].count() == 0;
    residents_[gpu.index()] = snapshot.residents(gpu);
    const bool is_idle = residents_[gpu.index()].count() == 0;
    if (was_idle != is_idle) SetIdle(snapshot, node, idle_[node.index()] + (is_idle ? 1 : -1));
    Reindex(snapshot, gpu);
  }
}

void Ledger::SetIdle(const Snapshot& snapshot, NodeId node, int idle) {
  idle_total_ += idle - idle_[node.index()];
  idle_[node.index()] = idle;
  const auto model = snapshot.cluster().node(node).model;
  idle_tree_[model.index()].Set(node.index(), closed(node) ? kClosed : idle);
}

// Sums are made anew from the residents, not adjusted: adding and taking away in another order
// would leave other last bits, and an empty memo must give the same plan as one with a history.
void Ledger::Reindex(const Snapshot& snapshot, GpuId gpu) {
  const auto model = snapshot.cluster().ModelOf(gpu);
  const auto jobs = residents_[gpu.index()].jobs();
  double load = 0;
  core::Bytes memory = strangers_ ? snapshot.foreign_memory(gpu) : core::Bytes();
  core::Bytes upper = memory;
  bool shared = true;
  for (JobId id : jobs) {
    const JobView& view = snapshot.job(id);
    const core::Demand& d = view.estimate.On(model).demand;
    load += d.busy;
    memory += d.gpu_memory;
    upper += planned_.Has(id) ? core::GpuMemoryUpper(view, planned_.guest_memory(id))
                              : core::GpuMemoryUpper(view);
    shared = shared && MayShare(view);
  }
  load_[gpu.index()] = load;
  memory_[gpu.index()] = memory;
  memory_upper_[gpu.index()] = upper;
  const bool takes_more = shared && !jobs.empty() && static_cast<int>(jobs.size()) < max_jobs_;
  room_[gpu.index()] = takes_more ? std::optional(1 - load) : std::nullopt;
  SetOpen(model, gpu, closed(snapshot.cluster().NodeOf(gpu)));
}

void Ledger::SetOpen(GpuModelId model, GpuId gpu, bool closed) {
  const auto& room = room_[gpu.index()];
  open_[model.index()].Set(gpu, room && !closed ? *room : kClosed);
}

bool Ledger::open(const Snapshot& snapshot, GpuId gpu) const {
  return open_[snapshot.cluster().ModelOf(gpu).index()].room(gpu) != kClosed;
}

std::vector<GpuId> Ledger::LeastLoaded(GpuModelId model, std::size_t count) const {
  return open_[model.index()].Roomiest(count);
}

void Ledger::Count(const Snapshot& snapshot, JobId id, GpuId gpu, int sign) {
  auto& here = residents_[gpu.index()];
  const NodeId node = snapshot.cluster().NodeOf(gpu);
  const bool was_idle = here.count() == 0;
  sign > 0 ? here.Add(id) : here.Remove(id);
  const bool is_idle = here.count() == 0;
  if (was_idle != is_idle) SetIdle(snapshot, node, idle_[node.index()] + (is_idle ? 1 : -1));
  Reindex(snapshot, gpu);
}

void Ledger::AddCores(const Snapshot& snapshot, NodeId node, double cores, bool cpu_only) {
  cores_used_[node.index()] += cores;
  if (cpu_only) cpu_only_cores_[node.index()] += cores;
  cores_tree_.Set(node.index(), cores_for_training(snapshot, node));
}

void Ledger::TakeMemory(const Snapshot& snapshot, NodeId node) {
  host_memory_used_[node.index()] = snapshot.memory_used(node);
  cpu_only_memory_[node.index()] = snapshot.cpu_only_memory(node);
}

void Ledger::AddMemory(const Snapshot& snapshot, JobId id, const Allocation& where, int sign) {
  const auto& cluster = snapshot.cluster();
  if (!cluster.states_memory()) return;
  const JobView& view = snapshot.job(id);
  Snapshot::EachNode(cluster, where, [&](NodeId node, int gpus) {
    const core::Bytes held = core::HostMemoryOn(cluster.node(node), view, gpus) * sign;
    host_memory_used_[node.index()] += held;
    if (view.cpu_only() && !view.job.keeps_place) cpu_only_memory_[node.index()] += held;
  });
}

core::Ratio Ledger::sm_share(const Snapshot& snapshot, JobId id) const {
  return planned_.Has(id) ? planned_.share(id) : core::StandingShare(snapshot.job(id));
}

void Ledger::HoldPaused(const Snapshot& snapshot, const JobView& view, int sign) {
  const auto& cluster = snapshot.cluster();
  if (!cluster.states_memory()) return;
  Snapshot::EachNode(cluster, view.allocation, [&](NodeId node, int gpus) {
    host_memory_used_[node.index()] += core::PausedMemoryOn(cluster.node(node), view, gpus) * sign;
  });
}

bool Ledger::PausedFits(const Snapshot& snapshot, const JobView& view) const {
  const auto& cluster = snapshot.cluster();
  bool fits = true;
  Snapshot::EachNode(cluster, view.allocation, [&](NodeId node, int gpus) {
    fits = fits &&
           core::PausedMemoryOn(cluster.node(node), view, gpus) <= host_memory_free(snapshot, node);
  });
  return fits;
}

void Ledger::Occupy(const Snapshot& snapshot, JobId id, const Allocation& to) {
  if (snapshot.job(id).paused) HoldPaused(snapshot, snapshot.job(id), -1);
  AddMemory(snapshot, id, to, +1);
  planned_.Set(id, to);
  for (GpuId gpu : to.gpus) {
    Count(snapshot, id, gpu, +1);
    AddCores(snapshot, snapshot.cluster().NodeOf(gpu),
             to.cores / static_cast<double>(to.gpus.size()), false);
  }
  if (to.gpus.empty()) AddCores(snapshot, to.node, to.cores, !snapshot.job(id).job.keeps_place);
}

void Ledger::Vacate(const Snapshot& snapshot, JobId id, const Allocation& from) {
  AddMemory(snapshot, id, from, -1);
  planned_.Erase(id);
  for (GpuId gpu : from.gpus) {
    Count(snapshot, id, gpu, -1);
    AddCores(snapshot, snapshot.cluster().NodeOf(gpu),
             -from.cores / static_cast<double>(from.gpus.size()), false);
  }
  if (from.gpus.empty()) {
    AddCores(snapshot, from.node, -from.cores, !snapshot.job(id).job.keeps_place);
  }
}

std::size_t Ledger::SkipNodesWithoutCores(const Snapshot& snapshot, std::size_t gpu,
                                          double cores) const {
  const auto& cluster = snapshot.cluster();
  const std::size_t from = cluster.NodeOf(GpuId(gpu)).index();
  // Cores are sums of fractions: what fits must not fail by their last bit.
  const std::size_t node = cores_tree_.First(cores - 1e-9, from);
  if (node == from) return gpu;
  return node == MaxTree::kNone ? cluster.gpu_count() : cluster.nodes()[node].first_gpu.index();
}

NodeId Ledger::node_with_most_cores() const { return NodeId(cores_tree_.First(most_cores())); }

double Ledger::cores_free(const Snapshot& snapshot, NodeId node) const {
  const auto& cores = snapshot.cluster().node(node).cores;
  return cores ? *cores - cores_used_[node.index()] : std::numeric_limits<double>::infinity();
}

double Ledger::cores_for_training(const Snapshot& snapshot, NodeId node) const {
  const double free = cores_free(snapshot, node);
  return cpu_jobs_give_way_ ? free + cpu_only_cores_[node.index()] : free;
}

bool Ledger::FitsBesideStrangers(const Snapshot& snapshot, const JobView& view, GpuId gpu) const {
  if (!strangers_) return true;
  const core::Bytes held = snapshot.foreign_memory(gpu);
  if (held <= core::Bytes(0)) return true;
  // Who runs there already has what it needs.
  const auto& on = view.allocation.gpus;
  if (view.state == core::JobState::kRunning && std::find(on.begin(), on.end(), gpu) != on.end()) {
    return true;
  }
  const auto model = snapshot.cluster().ModelOf(gpu);
  const core::Bytes all = snapshot.cluster().model(model).memory;
  core::Bytes wanted = view.estimate.gpu_memory_upper;
  if (!view.estimate.On(model).demand.known) wanted = std::min(wanted, all * kUnknownNeeds);
  return held + wanted <= all;
}

core::Bytes Ledger::host_memory_free(const Snapshot& snapshot, NodeId node) const {
  const auto& memory = snapshot.cluster().node(node).memory;
  if (!memory) return core::Bytes(std::numeric_limits<double>::infinity());
  return *memory - host_memory_used_[node.index()];
}

core::Bytes Ledger::host_memory_for_training(const Snapshot& snapshot, NodeId node) const {
  const core::Bytes free = host_memory_free(snapshot, node);
  return cpu_jobs_give_way_ ? free + cpu_only_memory_[node.index()] : free;
}

bool Ledger::HostMemorySuffices(const Snapshot& snapshot, const JobView& view, NodeId node,
                                int gpus) const {
  if (view.paused) return true;  // it holds more there already, and goes nowhere else
  const core::Bytes wanted = core::HostMemoryOn(snapshot.cluster().node(node), view, gpus);
  // Who needs none takes none of what is missing.
  return wanted <= core::Bytes(0) || wanted <= host_memory_for_training(snapshot, node);
}

std::size_t Ledger::FirstOpen(GpuModelId model, core::Ratio busy, std::size_t from) const {
  return open_[model.index()].First(busy, from);
}

void Ledger::Close(const Snapshot& snapshot, NodeId node, bool closed) {
  if (closed_[node.index()] == closed) return;
  if (closed) {
    closed_nodes_.push_back(node);
  } else {
    std::erase(closed_nodes_, node);
  }
  closed_[node.index()] = closed;
  const auto& facts = snapshot.cluster().node(node);
  if (facts.gpus == 0) return;
  SetIdle(snapshot, node, idle_[node.index()]);
  for (int k = 0; k < facts.gpus; ++k) {
    SetOpen(facts.model, GpuId(facts.first_gpu.index() + static_cast<std::size_t>(k)), closed);
  }
}

void Ledger::Reopen(const Snapshot& snapshot) {
  while (!closed_nodes_.empty()) Close(snapshot, closed_nodes_.back(), false);
}

}  // namespace sharewell::policy
