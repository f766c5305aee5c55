// Neighbours: who is on a GPU already, as asked for again and again: within a decision dozens of
// jobs are tried beside the same few, and what concerns those alone is worked out once; so is what
// concerns the job that is tried beside one after the other.
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
class Joined {
 public:
  Joined(Colocation& group, const Colocation& alone) : group_(group) { group_.JoinAsIn(alone); }
  ~Joined() { group_.Leave(); }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  Colocation& group_;
};

class NeighbourScratch : public Scratch {
 public:
  // REQUIRES: the ledger has somebody on that GPU, and fewer than fit. Valid until the next call.
  Neighbours& On(const Context& context, core::GpuId gpu);
  // The job that is tried, by itself on that model, with the share that it has or insists on. Valid
  // until the next call.
  const Colocation& Alone(const Context& context, core::JobId id, core::GpuModelId model);

 private:
  struct Slot {
    std::uint64_t decision = 0;
    core::GpuId gpu;
    std::optional<Neighbours> neighbours;
  };
  struct Tried {
    std::uint64_t decision = 0;
    core::GpuModelId model;
    std::optional<Colocation> alone;
  };
  Tried tried_;
  std::array<Slot, 128> slots_;  // by the GPU's number; those that share a place are made anew
};

}  // namespace sharewell::policy
