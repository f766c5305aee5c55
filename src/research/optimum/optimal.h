// Optimal: the least makespan of a small scenario, by mixed-integer programming (CBC), for judging
// policies by their distance from it.
//
// What is optimised, exactly: jobs of one GPU, all submitted at one instant, each run whole on one
// GPU by itself: nobody shares, nobody is moved, starting is free, durations are known, and hosts
// never run short. This is the true optimum of that problem (unrelated parallel machines), and so a
// lower bound for every policy that does not share GPUs. Policies that share may end below it: a
// negative distance is what sharing is worth there. With sharing: shared_optimum/shared_optimum.h.
//
// The work grows exponentially with the jobs, so larger scenarios are refused. One thread; prints
// nothing.
#pragma once

#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/units.h"
#include "simulation/scenario.h"
#include "simulation/summary.h"

namespace sharewell::research {

using simulation::kOptimal;  // its name among the policies

struct OptimalOptions {
  core::Seconds time_limit{60};  // CPU time of the solver
  std::size_t max_jobs = 16;
  std::size_t max_gpus = 8;
};

struct OptimalResult {
  // As Simulate gives for a policy: the optimal assignment run in the world without host limits,
  // shortest first on each GPU. Decision times are absent; distance_from_optimal is 0.
  simulation::Summary summary;
  std::vector<core::GpuId> gpu_of;  // by job
};

// Usage errors: gangs or CPU-only jobs, several submission times, a job that fits on no GPU, more
// jobs or GPUs than the options allow. Failed: no proof within the time limit.
core::Result<OptimalResult> SolveOptimal(const simulation::Scenario& scenario,
                                         const OptimalOptions& options = {});

// A usage error that names the policy and says why it cannot solve the scenario: those of
// SolveOptimal.
core::Result<void> CheckSolvable(const simulation::Scenario& scenario, std::string_view policy,
                                 std::size_t max_jobs, std::size_t max_gpus);

// The same machines, whose hosts never run short of anything.
core::Cluster WithoutHostLimits(const core::Cluster& cluster);

// Fills in summary.distance_from_optimal; leaves it absent where `summary` has no makespan.
void SetDistance(const OptimalResult& optimum, simulation::Summary& summary);

}  // namespace sharewell::research
