// PlayOn: what becomes of a queue from now on, as believed. The simulator goes on from a snapshot:
// what runs runs to its believed end, and the policy decides as it will, on what it believes now.
// When a server's jobs should start, and how good that would have been at the submission of a
// trace's jobs (score_starts.h), are told by this one function.
//
// A job of which nobody knows how long it takes never ends: who cannot start before it ends has no
// start.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/snapshot.h"
#include "core/units.h"
#include "interference/interference.h"
#include "policy/policy.h"
#include "simulation/replay/play.h"

namespace sharewell::simulation {

struct PlayOnOptions {
  // Of the line, from its front as the policy has it; those behind have no start.
  std::size_t most_waiting = 1'000;
  std::size_t most_turns = 20'000;
  // Whether jobs keep coming, as they came within the last hour. Else nobody comes after now.
  bool more_come = false;
  // How well durations are known: the standard deviation of the logarithm of what they err by. One
  // that has outlived its duration is believed to run on for as long as such do.
  double duration_error = 0;
  core::JobId until = {};  // valid: this one alone matters, and nothing is played after its start
  core::Seconds horizon{365 * 86400.0};  // from now: who starts later has no start
  // Asked again and again; once it is false, those that were not seen to start have no start.
  std::function<bool()> go_on = {};
};

// Work that is left of each job of the snapshot, in seconds alone on the reference model, where it
// is not the snapshot's own belief; absent, or the list ends: it is.
using Rests = std::span<const std::optional<core::Seconds>>;

// By JobId of the snapshot; in its time. Jobs that run have started. Reasons name jobs by their
// place among those that live, and after those whoever comes. `policy` begins with an empty memo;
// `interference` is what is believed of sharing.
core::Result<std::vector<Played>> PlayOn(const core::Snapshot& from, const policy::Policy& policy,
                                         const interference::Interference& interference,
                                         Rests rests, const PlayOnOptions& options);

// What is left, as likely more as less, of a job that was to take `whole` and has done `done`.
core::Seconds LikelyRest(core::Seconds whole, core::Seconds done, double duration_error);

}  // namespace sharewell::simulation
