// Over generations: how `sharewell` uses a small cluster of several GPU models, where which job
// sits on which model matters more than anything else (Takayama et al.'s question, with sharing).
// At every event and every 20 minutes it asks anew who should run where:
//
//   1. Prices: what each job's work is worth when everything is to be done soonest (market.h).
//   2. Weights: a job's price times (sqrt(mean size / its size) + 10 m / max(1 - u^4, 0.1)). The
//   first
//      term puts short jobs first; the second puts throughput first, and more so the larger the
//      share u of the time to drain everything that the job alone must run. m is the chance that
//      nobody comes before all is done: on a stream of jobs the second term fades, in a batch it
//      stays.
//   3. The assignment that gains most, changed from the present one (exchange.h); whoever stays
//   earns
//      what a restart would cost over 20 minutes, or over what it has left, so that jobs move
//      seldom.
//
// At most two jobs a GPU, nobody below 1 / max_slowdown. On Gavel's 71 jobs the constants were
// chosen among some hundred settings; on jobs with changed lengths the makespan stays within 1-4 %
// of the bound.
#pragma once

#include <optional>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/options.h"
#include "policy/sizing/sizing.h"

namespace sharewell::policy {

// The plan; absent where this is not the way: one GPU model only, more than 64 GPUs or 128 jobs,
// gangs, exclusive or CPU-only jobs, a share of the SMs that somebody insists on, unknown
// durations, or too few CPU cores for the assignment.
std::optional<core::Plan> PlanGenerations(const core::Snapshot& snapshot, const Options& options,
                                          const Sizing& sizing);

}  // namespace sharewell::policy
