// The one loop: observe > estimate > decide > check > apply > record. The same for the simulator
// and for real machines; they differ in the engine and the estimator only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "control/estimator.h"
#include "control/recorder.h"
#include "core/result.h"
#include "core/snapshot.h"
#include "engine/engine.h"
#include "policy/policy.h"

namespace sharewell::control {

class Loop {
 public:
  // All must outlive it.
  Loop(core::Snapshot& snapshot, const policy::Policy& policy, engine::Engine& engine,
       const Estimator& estimator, Recorder& recorder);

  // One turn. False when all is done. An error is a policy's bug: its plan was refused, nothing of
  // it was applied.
  core::Result<bool> Turn();

 private:
  void Write(const engine::Observation& observed);

  core::Snapshot& snapshot_;
  const policy::Policy& policy_;
  engine::Engine& engine_;
  const Estimator& estimator_;
  Recorder& recorder_;
  std::unique_ptr<policy::Memo> memo_;
  std::vector<core::Change> changes_;
  std::optional<core::Seconds> wake_;
  engine::Observation observed_;
};

}  // namespace sharewell::control
