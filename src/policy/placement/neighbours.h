// Neighbours: who is on a GPU already, as asked for again and again: within a decision dozens of
// jobs are tried beside the same few, and what concerns those alone is worked out once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "policy/colocation.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

struct Neighbours {
  Neighbours(const Context& context, core::GpuId gpu);

  Colocation group;            // whoever is tried joins it, and leaves
  double before = 0;           // sum of their speeds
  double alone = 0;            // and of their speeds alone, with their shares
  bool kernels_known = false;  // of somebody
};

// Joins for as long as it lives.
class Guest {
 public:
  Guest(Colocation& group, core::JobId id) : group_(group) { group_.Join(id); }
  ~Guest() { group_.Leave(); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

 private:
  Colocation& group_;
};

class NeighbourScratch : public Scratch {
 public:
  // REQUIRES: the ledger has somebody on that GPU, and fewer than fit. Valid until the next call.
  Neighbours& On(const Context& context, core::GpuId gpu);

 private:
  struct Slot {
    std::uint64_t decision = 0;
    core::GpuId gpu;
    std::optional<Neighbours> neighbours;
  };
  std::array<Slot, 128> slots_;  // by the GPU's number; those that share a place are made anew
};

}  // namespace sharewell::policy
