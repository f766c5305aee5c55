// GpuSet: GPUs in the order they were added, each once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/ids.h"

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

}  // namespace sharewell::policy
