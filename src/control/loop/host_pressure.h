// HostPressure: how much CPU-only jobs may do beside training jobs that they slow (CODA), by what
// the training jobs are seen to get. Where no counter tells whose the host's memory traffic is, the
// steps of a training job do: it has its GPUs to itself, was faster before, and CPU-only jobs run
// on its node. Pure: time and rates are handed in.
//
// They are slowed step by step, down to a tenth, while somebody gets less than 92 % of its best
// rate, and let loose again step by step once all get 96 %. If that does not help, it was not them:
// they are let loose, and that job blames nobody again until somebody comes or goes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/renumbering.h"
#include "core/units.h"

namespace sharewell::control {

// A training job that has its GPUs, on one node, to itself.
struct HostSufferer {
  core::JobId job;
  core::NodeId node;
  std::optional<double> steps_per_second;  // over the last window
  std::optional<double> steps_alone;       // by its profile
};

// What CPU-only jobs of one node are to be held to. 1: nothing.
struct HostShare {
  core::NodeId node;
  core::Ratio share = 1;
  core::JobId because;  // the training job that starves; not valid where the share is 1

  friend bool operator==(const HostShare&, const HostShare&) = default;
};

class HostPressure {
 public:
  static constexpr core::Ratio kLeastShare = 0.1;

  // About once a second. `cpu_jobs`: CPU-only jobs that run, by node. The nodes whose share has
  // changed.
  std::vector<HostShare> Look(core::Seconds now, std::span<const HostSufferer> training,
                              const std::map<core::NodeId, std::vector<core::JobId>>& cpu_jobs);

  // Jobs have new ids from now on; who does not stay is forgotten.
  void Renumber(const core::Renumbering& ids);

 private:
  struct Room {
    core::Ratio share = 1;
    core::Seconds stepped;             // when the share last changed
    std::vector<core::JobId> there;    // who was there when last looked
    core::Ratio speed_before = 1;      // of who starves, when it was first slowed for
    std::vector<core::JobId> acquits;  // whom CPU-only jobs were slowed for in vain
    core::JobId because;
  };
  // The slowest of those who can tell, over its best; absent: nobody can.
  struct Worst {
    core::JobId job;
    core::Ratio speed = 1;
  };
  void Step(core::Seconds now, const std::optional<Worst>& worst, Room& room) const;

  std::map<core::NodeId, Room> nodes_;
  std::map<core::JobId, double> best_;  // steps a second that it was seen to do
};

}  // namespace sharewell::control
