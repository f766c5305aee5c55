// LearntPairs: speeds of workloads beside each other that a run has measured itself. Asked before
// the pair table and the model whenever two jobs might share a GPU, and mostly in vain: one look at
// a flat table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::interference {

class LearntPairs {
 public:
  // A workload beside another, on a GPU of that model, with those whole percents of the SMs.
  struct Pair {
    core::GpuModelId model;
    core::WorkloadId self, other;
    int own_percent = 100, others_percent = 100;
  };

  // REQUIRES: 0 < speed. In the place of what was learnt before.
  void Learn(const Pair& pair, core::Ratio speed);
  std::optional<core::Ratio> Speed(const Pair& pair) const;
  bool empty() const { return count_ == 0; }

 private:
  struct Slot {
    std::uint64_t workloads = 0, rest = 0;
    core::Ratio speed = 0;  // 0: nothing is here
  };
  static Slot KeyOf(const Pair& pair);
  // Where it is, or would be.
  std::size_t Find(const Slot& key) const;
  void Grow();

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::size_t count_ = 0;
};

}  // namespace sharewell::interference
