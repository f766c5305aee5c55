// Recorder: hears what the loop did. Observes only; cannot change a decision.
#pragma once

#include "core/plan.h"
#include "core/snapshot.h"

namespace sharewell::control {

class Recorder {
 public:
  virtual ~Recorder() = default;
  // After a plan was checked and before it is applied: the snapshot still is the one decided on.
  virtual void OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) = 0;
  // How long one decision took.
  virtual void OnDecision(core::Seconds took) = 0;
};

}  // namespace sharewell::control
