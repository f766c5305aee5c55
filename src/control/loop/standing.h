// Standing: a running job as the guard judges it: where it is, what it tells of its steps, and what
// it may be slowed by. Plain data; whoever reads jobs (readings.h) fills it.
#pragma once

#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/snapshot.h"
#include "core/units.h"

namespace sharewell::control {

// So many steps were done at that time.
struct Telling {
  core::Seconds at;
  double steps = 0;
};

// What happened to a job since it was last looked at, or since its neighbours came.
struct History {
  core::Seconds beside_since;  // its neighbours are those that it has now
  core::Seconds first_step;    // of this attempt
  bool kept_pace = false;      // in this attempt, before these neighbours came
  std::vector<Telling> told;   // about once a second, before Standing::steps
};

// A running job, as it stands now.
struct Standing {
  core::JobId job;
  std::vector<core::GpuId> gpus;
  core::Seconds started;              // this attempt
  std::optional<double> steps;        // told so far in this attempt
  std::optional<double> steps_alone;  // a second, as it was observed earlier; never predicted
  core::Ratio max_slowdown = 1.25;
  // Its bound is over its whole run, as the policies plan it: so long it ran (start-up left out)
  // and would have run alone before now, and so much of its work, in seconds alone, is left.
  // Absent: judged by what it gets now.
  core::Seconds run_time = {}, alone_time = {};
  std::optional<core::Seconds> left = {};
  // Of a job on one GPU: the share of that GPU's SMs that all jobs there keep active now, and what
  // it does alone by its measured profile, from when it is known to train. Absent: not read, not
  // known.
  std::optional<core::Ratio> sm = {}, sm_alone = {};
  core::UserId user = {};                       // not valid: nobody's in particular
  std::optional<core::Seconds> told_at = {};    // when its last steps were; absent: now
  core::Ratio sm_share = 1;                     // of the SMs, that it may use
  std::optional<core::Ratio> share_speed = {};  // with them alone, by the model; 1 has it all
  bool own_share = false;  // its user insisted on it: what that costs is no neighbour's fault
  int evicted = 0;         // so often in a row
  bool may_leave = true;   // false: nothing may stop it now
  bool guest = false;      // it is here as one (core::Allocation): whoever is slowed, it leaves
  // Somebody who was stopped is on its way out of its GPU: what it does now says nothing yet.
  bool disturbed = false;
  std::optional<History> history = {};  // absent: it is looked at every second
};

// What the snapshot knows of it; `max_slowdown` where its user states none. What it tells, and how
// fast it is alone, is left to the caller.
Standing StandingOf(const core::Snapshot& snapshot, core::JobId id, core::Ratio max_slowdown);

}  // namespace sharewell::control
