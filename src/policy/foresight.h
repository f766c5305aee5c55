// Foresight: when GPUs will be free for a job, as believed, if nobody else comes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

// When GPUs will be idle, in seconds from now. Both must outlive it. `many`: it is asked for
// several jobs, while jobs come to the ledger and none leaves it; what was worked out is kept.
class Ends {
 public:
  Ends(const core::Snapshot& snapshot, const Ledger& ledger, bool many)
      : snapshot_(snapshot), ledger_(ledger), many_(many) {}
  const core::Snapshot& snapshot() const { return snapshot_; }
  const Ledger& ledger() const { return ledger_; }
  // Until `count` of the node's GPUs are idle; absent where that is not before `bound`.
  std::optional<double> FreeIn(const core::Node& node, int count, double bound);

 private:
  double EndOf(const core::Node& node, core::GpuId gpu);
  double EndOf(const core::Node& node, std::span<const core::JobId> jobs);
  double EndOf(const core::Node& node, core::JobId id);

  struct Known {
    double end = 0;
    int jobs = 0;  // when that many were there
  };
  const core::Snapshot& snapshot_;
  const Ledger& ledger_;
  bool many_;
  std::vector<Known> known_;  // by GPU
  std::vector<double> of_node_;
  core::JobId last_;
  double end_of_last_ = 0;
};

struct SoonFree {
  std::vector<core::NodeId> nodes;
  core::Seconds in;  // from now
};

// The nodes of that model on which the job's GPUs are idle soonest, and when, nodes that are
// kept for others left out. Absent where it may not run or the model has too few. O(GPUs of the
// cluster).
std::optional<SoonFree> SoonestFree(Ends& ends, const core::JobView& view, core::GpuModelId model);
std::optional<SoonFree> SoonestFree(const core::Snapshot& snapshot, const Ledger& ledger,
                                    const core::JobView& view, core::GpuModelId model);

}  // namespace sharewell::policy
