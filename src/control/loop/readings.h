// Readings: what the loop's guard reads of running jobs, when, and who is told what it finds. A
// server reads its jobs every second (service/pace_watch.h); a simulation when there is something
// new to find (event_readings.h). The loop's thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "control/loop/guard.h"
#include "core/plan.h"
#include "core/snapshot.h"

namespace sharewell::control {

class Readings {
 public:
  virtual ~Readings() = default;
  // When the guard looks next; absent: there is nothing to look at.
  virtual std::optional<core::Seconds> NextLook(const core::Snapshot& snapshot) = 0;
  // It looks now: running jobs, by job, with all residents of each GPU that is looked at.
  virtual std::vector<Standing> Read(const core::Snapshot& snapshot) = 0;
  // What it found, before evictions are checked, recorded and applied.
  virtual void OnVerdict(const core::Snapshot& snapshot, std::span<const Standing> running,
                         const Verdict& verdict) = 0;
  // A plan, of the policy or of the guard, is about to be applied.
  virtual void BeforePlan(const core::Snapshot& /*snapshot*/, const core::Plan& /*plan*/) {}
  // Jobs came and left, and the snapshot knows of it.
  virtual void AfterChanges(const core::Snapshot& /*snapshot*/,
                            std::span<const core::Change> /*changes*/) {}
};

}  // namespace sharewell::control
