// Plan: what a policy wants done now, each with its reason. Applied in this order: stops, moves,
// resizes and throttles, starts, so that what a stop frees can be used by a start of the same plan.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::core {

enum class ReasonKind {
  // why it went where it went
  kIdleGpu,            // an idle GPU, nobody to share with
  kFirstFit,           // first GPU whose predicted utilisation leaves room (a: their sum)
  kGoodNeighbour,      // beside a job it does not collide with (a: own speed, b: the slowest
                       // neighbour's)
  kBetterModel,        // gains most from this GPU model (a: gain)
  kLeavesBetterModel,  // gains least from the better model, so takes the other (a: gain)
  kProfileAlone,       // alone under profile first (a: seconds)
  kAfterProfile,       // measured, moved beside others (a: the sum of utilisation)
  kFillsCores,         // CPU-only job on cores that are left
  kTail,               // long job first, so that it does not end alone (a: its remaining seconds)
  kOrder,              // its turn
  kPreempted,          // a job before it in the order needs the place (job)
  kGivesWay,           // CPU-only job slowed for a training job that starves (job)
  kResumes,            // nobody starves any more
  // why it waits
  kNoIdleGpu,        // it needs idle GPUs, and there are not enough on one node (or in all)
                     // (a: GPUs wanted, b: idle; a 0: not counted)
  kNoRoom,           // no GPU has room for it beside what runs there
  kNoGoodNeighbour,  // beside any running job, one of the two would break the slowdown bound
  kNoMemory,         // beside no running job is the GPU memory that it may need (a: bytes wanted,
                     // b: the most that is free, gpu: where)
  kWaitsForFaster,  // an idle GPU is there, and it is done sooner on a faster one that will be free
  kNoCores,         // where it could run, the CPU cores that it is given are not free (a: wanted,
                    // b: the most that is free, node: where)
  kNoHostMemory,    // where it could run, the host memory that it may need is not free (a: bytes
                    // wanted, b: the most that is free, node: where)
  kOthersStay,      // who would give way to it cannot be stopped now (job)
  kHeldBack,        // places are kept for a job that has waited too long (job)
  kBehindOthers,    // jobs that need the same wait before it
  kInfeasible,      // could not run even on the empty cluster
};

struct Reason {
  ReasonKind kind = ReasonKind::kOrder;
  JobId job;     // the other job, where there is one
  double a = 0;  // figures, as the kind says
  double b = 0;
  NodeId node = {};  // where, as the kind says
  GpuId gpu = {};

  friend bool operator==(const Reason&, const Reason&) = default;
};

// In words, for people. `other` is the name of reason.job, where it has one; of what is short, who
// has it and where ("job 3 of ann has 6"), where that is known.
std::string InWords(const Reason& reason, const std::string& other);

// Where a job runs: its GPUs in rising order, or one node for a CPU-only job; cores in all, spread
// over the nodes as its GPUs are.
struct Allocation {
  std::vector<GpuId> gpus;
  NodeId node;  // CPU-only jobs
  double cores = 0;
  // The most of each GPU's SMs that it may use at once (MPS active thread percentage). A cap, no
  // reservation: those of one GPU may sum above 1. It holds from a start to the next.
  Ratio sm_share = 1;

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
