// Recorder: hears what the loop decided, before it is done. Observes only; cannot change a
// decision, but what it cannot keep is not done: what is not stored could be lost.
#pragma once

#include "core/plan.h"
#include "core/result.h"
#include "core/snapshot.h"

namespace sharewell::control {

class Recorder {
 public:
  virtual ~Recorder() = default;
  // What happened is in the snapshot, and is decided on next.
  virtual void OnObserved() {}
  // After a plan was checked and before it is applied: the snapshot still is the one decided on.
  // An error: nothing of the plan is applied, and the policy is asked again in a second.
  virtual core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) = 0;
  // How long one decision took.
  virtual void OnDecision(core::Seconds took) = 0;
};

}  // namespace sharewell::control
