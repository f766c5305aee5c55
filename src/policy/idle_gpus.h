// IdleSearch: which idle GPUs a job is given.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

// One job and one GPU model, on a ledger as it is now.
class IdleSearch {
 public:
  IdleSearch(const core::Snapshot& snapshot, const Ledger& ledger, const core::JobView& view,
             core::GpuModelId model)
      : snapshot_(snapshot), ledger_(ledger), view_(view), model_(model) {}

  // Quickly told, of most who wait: false where there are too few of that model for it.
  bool MayFind() const;

  // In rising order: on one node where a node is large enough, first fit, and where islands are
  // known, the nearest of the first that fit; else on wholly idle nodes and one more for the
  // remainder. `cores` is what it needs a GPU.
  std::optional<std::vector<core::GpuId>> Find(double cores_a_gpu) const;

 private:
  struct OnNode {
    std::vector<core::GpuId> gpus;
    int spread = 0;  // how far they are from each other
  };
  using Suffices = std::function<bool(std::size_t node, int want)>;

  bool fits_on_a_node() const;
  // The first idle ones, by number on the node; and `want` of all. REQUIRES: there are as many.
  std::vector<int> IdleOf(std::size_t node, int most) const;
  OnNode Take(std::size_t node, int want) const;
  std::optional<std::vector<core::GpuId>> OfOneNode(const Suffices& suffices) const;
  std::optional<std::vector<core::GpuId>> OfWholeNodes(const Suffices& suffices) const;
  // Where a job wants the same GPUs, by number, on each of several nodes.
  std::optional<std::vector<core::GpuId>> SameOfNodes(const Suffices& suffices) const;

  const core::Snapshot& snapshot_;
  const Ledger& ledger_;
  const core::JobView& view_;
  core::GpuModelId model_;
};

}  // namespace sharewell::policy
