// Plan: what a policy wants done now, each with its reason. Applied in this order: stops, moves,
// resizes and throttles, starts, so that what a stop frees can be used by a start of the same plan.
#pragma once

#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/reason.h"
#include "core/units.h"

namespace sharewell::core {

// Where a job runs: its GPUs in rising order, or one node for a CPU-only job; cores in all, spread
// over the nodes as its GPUs are.
struct Allocation {
  std::vector<GpuId> gpus;
  NodeId node;  // CPU-only jobs
  double cores = 0;
  // The most of each GPU's SMs that it may use at once (MPS active thread percentage). A cap, no
  // reservation: those of one GPU may sum above 1. It holds from a start to the next.
  Ratio sm_share = 1;
  // It is there as a guest: nothing was known of it when it started, beside others, so it is kept
  // to so much of the GPU's memory, and goes after its neighbours. Absent: it is no guest.
  std::optional<Bytes> guest_memory = {};

  bool guest() const { return guest_memory.has_value(); }
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Start {
  JobId job;
  Allocation to;
  std::optional<Seconds>
      profile;  // tell when it has run alone for so long, with what it was seen to need
  Reason reason;
};
struct Move {
  JobId job;
  Allocation to;
  bool free =
      false;  // the policy's model says that this move costs no restart (Yeung et al.'s reactive)
  Reason reason;
};
struct Stop {  // back into the queue, its work kept
  JobId job;
  Reason reason;
  // Its process stays and keeps all of its work: what it has in GPU memory goes to the host's until
  // it is started again, on the same GPUs.
  bool pause = false;
};
// The guard's stops: a co-location broke a bound.
inline bool IsEviction(const Stop& stop) {
  return std::holds_alternative<reason::Evicted>(stop.reason);
}
struct Resize {
  JobId job;
  double cores = 0;
  Reason reason;
};
struct Throttle {  // CPU-only jobs: the share of its cores' time and memory bandwidth it may use
  JobId job;
  Ratio share = 1;
  Reason reason;
};
struct Wait {
  JobId job;
  Reason reason;
};

struct Plan {
  std::vector<Stop> stops;
  std::vector<Move> moves;
  std::vector<Resize> resizes;
  std::vector<Throttle> throttles;
  std::vector<Start> starts;
  std::vector<Wait> waits;         // only where the reason is new
  std::vector<JobId> infeasible;   // can never run here
  std::optional<Seconds> wake_at;  // decide again then, even if nothing happens

  bool empty() const {
    return stops.empty() && moves.empty() && resizes.empty() && throttles.empty() &&
           starts.empty() && infeasible.empty();
  }
};

}  // namespace sharewell::core
