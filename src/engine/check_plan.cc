#include "engine/check_plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/sm_share.h"

namespace sharewell::engine {
namespace {

using core::Allocation;
using core::FailedError;
using core::GpuId;
using core::JobId;
using core::JobState;
using core::JobView;
using core::NodeId;
using core::Result;

// Counts what the plan would leave on the GPUs and nodes it touches.
class Ledger {
 public:
  explicit Ledger(const core::Snapshot& snapshot) : snapshot_(snapshot) {}

  void Remove(JobId id) {
    const JobView& view = snapshot_.job(id);
    for (GpuId gpu : view.allocation.gpus) std::erase(On(gpu), id);
    AddCores(view.allocation, -1);
    AddMemory(view, view.allocation, -1, core::HostMemoryOn);
  }
  // Its memory stays, and what it had on its GPUs comes to it; or that goes, as it goes on.
  void Pause(JobId id, int sign) {
    const JobView& view = snapshot_.job(id);
    AddMemory(view, view.allocation, sign, core::PausedMemoryOn);
  }

  Result<void> Add(JobId id, const Allocation& to) {
    const JobView& view = snapshot_.job(id);
    const auto& cluster = snapshot_.cluster();
    const std::string& name = view.job.name;
    if (to.gpus.size() != static_cast<std::size_t>(view.job.gpus)) {
      return FailedError("job {} needs {} GPUs together, the plan gives {}", name, view.job.gpus,
                         to.gpus.size());
    }
    if (!std::is_sorted(to.gpus.begin(), to.gpus.end()) ||
        std::adjacent_find(to.gpus.begin(), to.gpus.end()) != to.gpus.end()) {
      return FailedError("job {}: the plan's GPUs are not distinct and in order", name);
    }
    if (!(to.cores >= 0)) return FailedError("job {}: the plan gives {} cores", name, to.cores);
    if (!(to.sm_share > 0 && to.sm_share <= 1)) {
      return FailedError("job {}: the plan gives {} of the SMs", name, to.sm_share);
    }
    const auto insisted = core::InsistedShare(view);
    if (insisted && to.sm_share != *insisted) {
      return FailedError("job {}: its user insists on {} of the SMs, the plan gives {}", name,
                         *insisted, to.sm_share);
    }
    if (to.sm_share < 1 && (to.gpus.size() != 1 || view.must_be_alone())) {
      return FailedError("job {}: a share of the SMs is for a job that may share its one GPU",
                         name);
    }
    const bool may_be_guest =
        to.gpus.size() == 1 && !view.must_be_alone() && !view.job.alone_until_known;
    if (to.guest_memory && (!may_be_guest || *to.guest_memory <= core::Bytes(0))) {
      return FailedError("job {}: the plan starts it as a guest with {:.0f} bytes of GPU memory{}",
                         name, to.guest_memory->value,
                         may_be_guest ? "" : ", and it may not be one");
    }
    if (view.job.gpus == 0 && to.node.index() >= cluster.nodes().size()) {
      return FailedError("CPU-only job {}: the plan names no node", name);
    }
    for (GpuId gpu : to.gpus) {
      if (gpu.index() >= cluster.gpu_count())
        return FailedError("job {}: no GPU {}", name, gpu.value);
      const auto model = cluster.ModelOf(gpu);
      const auto& allowed = view.job.allowed_models;
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), model) == allowed.end()) {
        return FailedError("job {} may not run on {}", name, cluster.model(model).name);
      }
      const auto& nodes = view.job.allowed_nodes;
      const NodeId on = cluster.NodeOf(gpu);
      if (!nodes.empty() && std::find(nodes.begin(), nodes.end(), on) == nodes.end()) {
        return FailedError("job {} may not run on node {}", name, cluster.node(on).name);
      }
      auto& here = On(gpu);
      here.push_back(id);
      if (here.size() > core::kMaxJobsOnGpu) return FailedError("GPU {} is over-full", gpu.value);
      for (JobId other : here) {
        if (here.size() > 1 && snapshot_.job(other).must_be_alone()) {
          return FailedError("GPU {}: job {} must be alone", gpu.value,
                             snapshot_.job(other).job.name);
        }
      }
    }
    AddCores(to, +1);
    AddMemory(view, to, +1, core::HostMemoryOn);
    return {};
  }

  void AddCores(const Allocation& where, int sign) {
    if (where.gpus.empty()) {
      if (where.node.valid()) cores_[where.node] += sign * where.cores;
      return;
    }
    for (GpuId gpu : where.gpus) {
      cores_[snapshot_.cluster().NodeOf(gpu)] +=
          sign * where.cores / static_cast<double>(where.gpus.size());
    }
  }

  void AddMemory(const JobView& view, const Allocation& where, int sign,
                 core::Bytes (*held)(const core::Node&, const JobView&, int)) {
    const auto& cluster = snapshot_.cluster();
    if (!cluster.states_memory()) return;
    core::Snapshot::EachNode(cluster, where, [&](NodeId node, int gpus) {
      memory_[node] += held(cluster.node(node), view, gpus) * sign;
    });
  }

  Result<void> CheckMemory() const {
    for (const auto& [node, change] : memory_) {
      const auto& facts = snapshot_.cluster().node(node);
      const core::Bytes after = snapshot_.memory_used(node) + change;
      if (facts.memory && change > core::Bytes(0) && after > *facts.memory) {
        return FailedError("node {} has {:.0f} bytes of host memory for jobs, the plan uses {:.0f}",
                           facts.name, facts.memory->value, after.value);
      }
    }
    return {};
  }

  Result<void> CheckCores() const {
    for (const auto& [node, change] : cores_) {
      const auto& facts = snapshot_.cluster().node(node);
      if (facts.cores && change > 0 && snapshot_.cores_used(node) + change > *facts.cores + 1e-6) {
        return FailedError("node {} has {} cores, the plan uses {}", facts.name, *facts.cores,
                           snapshot_.cores_used(node) + change);
      }
    }
    return {};
  }

 private:
  std::vector<JobId>& On(GpuId gpu) {
    auto [it, fresh] = gpus_.try_emplace(gpu);
    if (fresh) {
      const auto jobs = snapshot_.residents(gpu).jobs();
      it->second.assign(jobs.begin(), jobs.end());
    }
    return it->second;
  }

  const core::Snapshot& snapshot_;
  std::unordered_map<GpuId, std::vector<JobId>> gpus_;
  std::unordered_map<NodeId, double> cores_;
  std::unordered_map<NodeId, core::Bytes> memory_;
};

}  // namespace

Result<void> CheckPlan(const core::Snapshot& snapshot, const core::Plan& plan) {
  Ledger ledger(snapshot);
  std::unordered_set<JobId> seen;
  const auto in_state = [&](JobId id, JobState state) {
    return id.index() < snapshot.job_count() && snapshot.job(id).state == state &&
           seen.insert(id).second;
  };
  for (const auto& stop : plan.stops) {
    if (!in_state(stop.job, JobState::kRunning))
      return FailedError("stop of a job that does not run");
    if (!snapshot.job(stop.job).may_stop()) {
      return FailedError("stop of job {}, which keeps its place", snapshot.job(stop.job).job.name);
    }
    if (stop.pause && snapshot.job(stop.job).cpu_only()) {
      return FailedError("CPU-only job {} cannot be paused", snapshot.job(stop.job).job.name);
    }
    ledger.Remove(stop.job);
    if (stop.pause) ledger.Pause(stop.job, +1);
  }
  for (const auto& move : plan.moves) {
    if (!in_state(move.job, JobState::kRunning))
      return FailedError("move of a job that does not run");
    if (!snapshot.job(move.job).may_stop()) {
      return FailedError("move of job {}, which keeps its place", snapshot.job(move.job).job.name);
    }
    ledger.Remove(move.job);
  }
  for (const auto& resize : plan.resizes) {
    if (!in_state(resize.job, JobState::kRunning))
      return FailedError("resize of a job that does not run");
    if (!(resize.cores >= 0)) return FailedError("resize to {} cores", resize.cores);
    const Allocation& before = snapshot.job(resize.job).allocation;
    Allocation after = before;
    after.cores = resize.cores;
    ledger.AddCores(before, -1);
    ledger.AddCores(after, +1);
  }
  for (const auto& throttle : plan.throttles) {
    if (!in_state(throttle.job, JobState::kRunning) || !snapshot.job(throttle.job).cpu_only()) {
      return FailedError("throttle of a job that is not a running CPU-only job");
    }
    if (!(throttle.share > 0 && throttle.share <= 1))
      return FailedError("throttle to {}", throttle.share);
  }
  for (const auto& move : plan.moves) {
    if (auto ok = ledger.Add(move.job, move.to); !ok) return ok;
  }
  for (const auto& start : plan.starts) {
    if (!in_state(start.job, JobState::kWaiting))
      return FailedError("start of a job that does not wait");
    const JobView& waits = snapshot.job(start.job);
    if (waits.paused && start.to.gpus != waits.allocation.gpus) {
      return FailedError("paused job {} goes on where it was, and nowhere else", waits.job.name);
    }
    if (waits.paused) ledger.Pause(start.job, -1);
    if (auto ok = ledger.Add(start.job, start.to); !ok) return ok;
  }
  for (JobId id : plan.infeasible) {
    if (!in_state(id, JobState::kWaiting)) return FailedError("dropping a job that does not wait");
  }
  if (auto ok = ledger.CheckMemory(); !ok) return ok;
  return ledger.CheckCores();
}

}  // namespace sharewell::engine
