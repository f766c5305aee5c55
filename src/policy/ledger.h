// Ledger: what is occupied, believed loads included, with the indices that let a decision find a
// place without looking at every GPU. It mirrors the snapshot and runs ahead of it while a plan is
// made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/numbers/max_tree.h"
#include "core/snapshot.h"
#include "interference/interference.h"
#include "policy/open_gpus.h"
#include "policy/planned_shares.h"

namespace sharewell::policy {

class Ledger {
 public:
  Ledger() = default;
  // `cpu_jobs_give_way`: cores of CPU-only jobs count as free for training jobs.
  Ledger(const core::Snapshot& snapshot, int max_jobs_on_gpu, bool cpu_jobs_give_way);

  // Makes it equal to the snapshot again.
  void Rebuild(const core::Snapshot& snapshot);
  // With no training job running: for plans made from an empty cluster. CPU-only jobs stay, unless
  // `nobody` at all is wanted.
  void Empty(const core::Snapshot& snapshot, bool nobody);
  // Takes over what the snapshot says of a job's (last) place.
  void Refresh(const core::Snapshot& snapshot, const core::JobView& view);

  // The plan that was made ahead of the snapshot is in it now, or was given up.
  void ForgetPlanned() { planned_.Clear(); }

  void Occupy(const core::Snapshot& snapshot, core::JobId id, const core::Allocation& to);
  void Vacate(const core::Snapshot& snapshot, core::JobId id, const core::Allocation& from);
  // The host memory that it holds where it is, or was, while it is paused: +1 from now on, -1 no
  // more. Occupy lets go of it. And whether there is room for that.
  void HoldPaused(const core::Snapshot& snapshot, const core::JobView& view, int sign);
  bool PausedFits(const core::Snapshot& snapshot, const core::JobView& view) const;

  const core::Residents& residents(core::GpuId gpu) const { return residents_[gpu.index()]; }
  // Of a job that runs, or was put somewhere by this plan.
  core::Ratio sm_share(const core::Snapshot& snapshot, core::JobId id) const;
  bool planned(core::JobId id) const { return planned_.Has(id); }  // by this plan
  std::size_t planned() const { return planned_.size(); }
  core::Ratio load(core::GpuId gpu) const { return load_[gpu.index()]; }  // sum of believed busy
  core::Bytes memory(core::GpuId gpu) const {
    return memory_[gpu.index()];
  }  // sum of believed memory, and what strangers hold
  core::Bytes memory_upper(core::GpuId gpu) const { return memory_upper_[gpu.index()]; }
  // Beside the processes there that are no jobs, it has the GPU memory it may need. What nobody
  // knows is taken to leave a tenth of the GPU.
  bool FitsBesideStrangers(const core::Snapshot& snapshot, const core::JobView& view,
                           core::GpuId gpu) const;
  double cores_free(const core::Snapshot& snapshot, core::NodeId node) const;
  double cores_for_training(const core::Snapshot& snapshot, core::NodeId node) const;
  // The lowest GPU on a node, from `gpu`'s on, that has so many cores for training; gpu_count() if
  // none.
  std::size_t SkipNodesWithoutCores(const core::Snapshot& snapshot, std::size_t gpu,
                                    double cores) const;
  double most_cores() const { return cores_tree_.max(); }  // for training, on any one node
  core::NodeId node_with_most_cores() const;               // REQUIRES: there is a node
  // Host memory that nobody has reserved; infinite where the node does not state its memory. For
  // training, that of CPU-only jobs that give way is free too. Below 0 where somebody was seen to
  // need more than had been believed.
  core::Bytes host_memory_free(const core::Snapshot& snapshot, core::NodeId node) const;
  core::Bytes host_memory_for_training(const core::Snapshot& snapshot, core::NodeId node) const;
  // So many of its GPUs on that node, as far as host memory goes.
  bool HostMemorySuffices(const core::Snapshot& snapshot, const core::JobView& view,
                          core::NodeId node, int gpus) const;
  int idle_gpus(core::NodeId node) const { return idle_[node.index()]; }
  int idle_gpus() const { return idle_total_; }

  // The lowest node of that model, from `from` on, with so many idle GPUs and kept for nobody else;
  // MaxTree::kNone if there is none.
  std::size_t NodeWithIdle(core::GpuModelId model, int gpus, std::size_t from = 0) const {
    return idle_tree_[model.index()].First(gpus, from);
  }
  // A ledger of the empty cluster tells what could ever be: no node is kept for anybody there.
  bool of_nobody() const { return nobody_; }

  // GPUs of `model` that have co-location but room for more, busiest-first-fit style: the lowest
  // GPU from `from` on whose believed load leaves `busy` free; none: MaxTree::kNone.
  std::size_t FirstOpen(core::GpuModelId model, core::Ratio busy, std::size_t from) const;
  // At most `count` of them, least loaded first, ties by number.
  std::vector<core::GpuId> LeastLoaded(core::GpuModelId model, std::size_t count) const;
  bool open(const core::Snapshot& snapshot, core::GpuId gpu) const;
  // It would be one of them, if its node were kept for nobody.
  bool has_room(core::GpuId gpu) const { return room_[gpu.index()].has_value(); }

  // Nodes kept for a job that has waited too long: closed to others until they are opened (`closed`
  // is false), or Reopen of all.
  void Close(const core::Snapshot& snapshot, core::NodeId node, bool closed = true);
  void Reopen(const core::Snapshot& snapshot);
  bool closed(core::NodeId node) const { return closed_[node.index()]; }
  bool any_closed() const { return !closed_nodes_.empty(); }

 private:
  void Reindex(const core::Snapshot& snapshot, core::GpuId gpu);
  void AddCores(const core::Snapshot& snapshot, core::NodeId node, double cores, bool cpu_only);
  void AddMemory(const core::Snapshot& snapshot, core::JobId id, const core::Allocation& where,
                 int sign);
  void TakeMemory(const core::Snapshot& snapshot, core::NodeId node);
  void SetIdle(const core::Snapshot& snapshot, core::NodeId node, int idle);
  void SetOpen(core::GpuModelId model, core::GpuId gpu, bool closed);
  void Count(const core::Snapshot& snapshot, core::JobId id, core::GpuId gpu, int sign);

  int max_jobs_ = 1;
  bool cpu_jobs_give_way_ = false;
  bool nobody_ = false;  // of what could ever be: nor is any node kept for somebody
  std::vector<core::Residents> residents_;
  std::vector<double> load_;
  std::vector<core::Bytes> memory_;
  std::vector<core::Bytes> memory_upper_;
  bool strangers_ = false;  // some GPU's memory is held by processes that are no jobs
  std::vector<double> cores_used_;
  std::vector<double> cpu_only_cores_;
  std::vector<core::Bytes> host_memory_used_;
  std::vector<core::Bytes> cpu_only_memory_;
  core::MaxTree cores_tree_;  // over nodes: cores for training
  std::vector<int> idle_;
  int idle_total_ = 0;
  std::vector<core::MaxTree> idle_tree_;     // by model, over nodes
  std::vector<std::optional<double>> room_;  // by GPU: left, where co-location is allowed
  std::vector<OpenGpus> open_;               // by model: of those that are not closed
  PlannedShares planned_;
  std::vector<bool> closed_;
  std::vector<core::NodeId> closed_nodes_;
};

// May share its GPU at all: one GPU, and nothing says that it must be alone.
bool MayShare(const core::JobView& view);

// May run on that GPU model.
bool Allowed(const core::JobView& view, core::GpuModelId model);
bool AllowedOn(const core::Cluster& cluster, const core::JobView& view, core::NodeId node);

}  // namespace sharewell::policy
