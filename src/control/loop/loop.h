// The one loop: observe > estimate > decide > check > record > apply. The same for the simulator
// and for real machines; they differ in the engine, the estimator and the readings only.
//
// The guard decides first: when it is time to look at the bounds of jobs that share, what it finds
// becomes the stops of a plan of its own, checked, recorded and applied like the policy's, which
// then decides on what is left. A turn that came for the guard alone, and in which nobody is
// evicted, is not the policy's.
//
// A plan is recorded before it is applied: who was started must be known to a server that is killed
// in between. What cannot be recorded is not applied. A plan that was not applied, whoever refused
// it, leaves nothing behind: the policy's memo believes in it, so the policy begins with another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/loop/estimator.h"
#include "control/loop/guard.h"
#include "control/loop/readings.h"
#include "control/loop/recorder.h"
#include "core/result.h"
#include "core/snapshot.h"
#include "engine/engine.h"
#include "policy/policy.h"

namespace sharewell::control {

class Loop {
 public:
  // All must outlive it.
  Loop(core::Snapshot& snapshot, const policy::Policy& policy, engine::Engine& engine,
       Estimator& estimator, Recorder& recorder);

  // From now on the guard looks at what `readings` reads. Both must outlive the loop.
  void Watch(Guard& guard, Readings& readings);

  // One turn. False when all is done. An error is a policy's bug: its plan was refused, nothing of
  // it was applied. It is asked again after a second, and later each further time.
  core::Result<bool> Turn();

  // Between turns, on the same thread:
  // A job that is at its place already, whatever the policy thinks of it: found running after a
  // restart, or something that keeps a GPU from being used. REQUIRES: job.id == job_count().
  void Seat(core::Job job, core::Estimate estimate, const core::Allocation& where);
  // It goes again, without the engine having been told of it.
  void Unseat(core::JobId id);
  // A job that runs has so many cores, whatever its plan gave it.
  void Resize(core::JobId id, double cores);
  // Nodes were added to the snapshot's cluster. The policy begins with an empty memo.
  void Grow();
  // Jobs have new ids from now on, in the snapshot too. The policy begins with an empty memo.
  void Renumber(const core::Renumbering& ids);
  // The next turn comes at `at` or earlier, even if nothing happens.
  void TurnBy(core::Seconds at);
  // More is known of a job now. `measured`: on itself.
  void Learn(core::JobId id, core::Estimate estimate, bool measured);
  // So much of that GPU's memory is held by processes that are no jobs, from now on.
  void SetForeignMemory(core::GpuId gpu, core::Bytes held);
  // So much of that node is held by whoever is no job of ours, from now on.
  void SetForeignHost(core::NodeId node, double cores, core::Bytes memory);
  // From now on this one decides; it must outlive the loop or the next one. It begins with an empty
  // memo, which by the law of policies gives the same plan.
  void Follow(const policy::Policy& policy);

 private:
  enum class Done : std::uint8_t { kApplied, kNotKept };

  void Write(const engine::Observation& observed);
  core::Result<void> DecideOnBoundsAndQueue();
  // The guard's part of a turn: whether it evicted somebody.
  core::Result<bool> LookAtBounds();
  core::Result<void> Decide();  // the policy's part
  // Check, record, apply. An error: the plan is refused. kNotKept: it could not be recorded.
  core::Result<Done> CarryOut(const core::Plan& plan, const std::string& whose);
  void Apply(const core::Plan& plan);
  void EmitChanges();                  // to who reads for the guard
  void AskAgain(core::Seconds after);  // the last plan was refused

  core::Snapshot& snapshot_;
  const policy::Policy* policy_;
  engine::Engine& engine_;
  Estimator& estimator_;
  Recorder& recorder_;
  std::unique_ptr<policy::Memo> memo_;
  Guard* guard_ = nullptr;  // null: nobody looks at bounds
  Readings* readings_ = nullptr;
  std::optional<core::Seconds> look_at_;  // when the guard looks next
  bool undecided_ = true;                 // something is new to the policy
  std::vector<core::Change> changes_;
  std::size_t told_ = 0;             // of changes_, those that readings_ know
  std::vector<core::JobId> learnt_;  // more is known of them since the policy last decided
  std::optional<core::Seconds> wake_;
  int bad_plans_ = 0;  // one after the other
  engine::Observation observed_;
};

}  // namespace sharewell::control
