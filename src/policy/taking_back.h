// Taking back: where projects reclaim (Options::projects_reclaim, docs/projects.md), jobs of
// projects above their share of the GPUs are stopped for a job of a project below its own that
// found no place.
//
// - No project that has its share falls below it by that, and nobody is stopped for a job of lower
//   priority.
// - The job is started in the same plan: nobody is stopped for one that would not fit then.
// - One goes where one suffices, the youngest run of those; else the fewest that make room on one
//   node; else on several. Equals go by id.
// - A run is left alone for kRunsUndisturbed, and twice as long for each time that its job was
//   stopped or moved before, so that nothing goes to and fro, and who borrows comes to an end even
//   where each stop loses all of its work.
//
// A few jobs a decision; for each O(runs of projects above their share) placements.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/line.h"
#include "policy/placement/placement.h"
#include "policy/reservations.h"

namespace sharewell::policy {

inline constexpr core::Seconds kRunsUndisturbed{600};
inline constexpr int kMostDoublings = 10;  // a week

// From then on it may be stopped for another project's share. REQUIRES: it runs.
core::Seconds UndisturbedUntil(const core::JobView& view);

struct TakeBackFrom {
  const core::Snapshot& snapshot;
  std::span<const core::Ratio> shares;  // by project
  const Reservations::KeptNodes& kept;  // for whom, in this plan: nobody else comes there
  std::function<Choice(const Ledger&, const core::JobView&)> place;  // as the policy does
  std::function<bool(core::JobId)> dropped;                          // this plan gives it up
};

// After all others found their places: adds to the plan who goes, and who starts for it; the ledger
// has both then. When to decide again even if nothing happens, because somebody may be stopped from
// then on; absent: nobody would start by it.
std::optional<core::Seconds> TakeBack(const TakeBackFrom& from, const Line& line, Ledger& ledger,
                                      core::Plan& plan);

}  // namespace sharewell::policy
