// PlanKeeper: a plan is stored before it is applied; then the engine is told how fast those go whom
// it places, and users why they wait. The loop's thread.
#pragma once

#include "control/service/jobs/job_queue.h"
#include "control/service/record/journal.h"
#include "control/service/runs/node_keeper.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/runs/pauses.h"
#include "control/service/service_state.h"
#include "core/plan.h"
#include "core/result.h"

namespace sharewell::control {

class PlanKeeper {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PaceWatch& paces;
    Pauses& pauses;
    const NodeKeeper& nodes;
    JobQueue& queue;
    bool managed = false;  // the jobs stand in the queue of a cluster's manager
  };
  explicit PlanKeeper(const Parts& parts) : parts_(parts) {}

  // REQUIRES: the snapshot is the one that was decided on. On failure nothing has changed.
  core::Result<void> Keep(const core::Plan& plan);

 private:
  void ShowReason(const core::Plan& plan);

  const Parts parts_;
};

}  // namespace sharewell::control
