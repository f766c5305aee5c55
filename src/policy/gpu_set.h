// GpuSet: GPUs in the order they were added, each once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/snapshot.h"

namespace sharewell::policy {

class GpuSet {
 public:
  void Clear(std::size_t gpus) {
    for (core::GpuId gpu : list_) in_[gpu.index()] = false;
    list_.clear();
    in_.resize(gpus, false);
  }
  void Add(core::GpuId gpu) {
    if (in_[gpu.index()]) return;
    in_[gpu.index()] = true;
    list_.push_back(gpu);
  }
  void Sort() { std::sort(list_.begin(), list_.end()); }
  std::span<const core::GpuId> list() const { return list_; }

 private:
  std::vector<core::GpuId> list_;
  std::vector<bool> in_;
};

// The GPUs that somebody came to or left now: of those where the changes were, or of `all`.
inline void FindChanged(const core::Snapshot& snapshot, std::span<const core::Change> changes,
                        bool all, GpuSet& out) {
  out.Clear(snapshot.cluster().gpu_count());
  const auto add = [&](core::GpuId gpu) {
    if (snapshot.changed(gpu) == snapshot.now()) out.Add(gpu);
  };
  if (all) {
    for (std::size_t g = 0; g < snapshot.cluster().gpu_count(); ++g) add(core::GpuId(g));
    return;
  }
  for (const core::Change& change : changes) {
    for (const core::GpuId gpu : snapshot.job(change.job).allocation.gpus) add(gpu);
  }
  out.Sort();
}

}  // namespace sharewell::policy
