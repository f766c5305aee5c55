// StartScorer: how good the expected starts would have been that a server tells at submission, on a
// trace whose jobs' real starts are known in the end. Those that waited over a minute count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/snapshot.h"
#include "core/units.h"
#include "interference/interference.h"
#include "policy/policy.h"
#include "sim/world.h"
#include "simulation/starts/starts_score.h"

namespace sharewell::simulation {

class StartScorer {
 public:
  // Of so many jobs a sample by seed is looked at. `duration_error`: as PlayOnOptions has it.
  StartScorer(std::size_t jobs, std::uint64_t seed, double duration_error);

  // After each turn: who came in it and has to wait is told when it should start.
  core::Result<void> Look(const core::Snapshot& snapshot, const policy::Policy& policy,
                          const interference::Interference& interference);
  StartsScore Score(const std::vector<sim::JobOutcome>& outcomes) const;

 private:
  struct Told {
    core::JobId job;
    core::Seconds submitted;
    std::optional<core::Seconds> start;
  };
  bool Chosen(core::JobId id) const;

  const double share_;  // of all jobs
  const std::uint64_t seed_;
  const double duration_error_;
  std::size_t seen_ = 0;  // jobs of the snapshot
  std::vector<Told> told_;
};

}  // namespace sharewell::simulation
