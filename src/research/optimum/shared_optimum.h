// The optimum with co-location (Yeung et al.'s future work): how soon a few jobs can be done when
// up to three share a GPU. For judging policies by their distance from it.
//
// The mixed-integer program: jobs of one GPU, all submitted at one instant. Binary y(j,g): job j is
// on GPU g, on one all along. Continuous x(g,c): seconds that g runs configuration c, a set of at
// most three jobs with a share of the SMs each.
//
//   least T   with   sum over g of y(j,g) = 1                            for each j
//                    sum over c of x(g,c) speed(c,j) = seconds(j,g) y(j,g)   for each j and g
//                    sum over c of x(g,c) <= T                           for each g
//
// It is solved exactly: for given y it falls apart into one linear program a GPU (turns.h), whose
// values are asked for as an exact search over the assignments needs them.
//
// What T is: the optimum of jobs that may take turns on their GPU at no cost, with speeds known as
// they really are, the simulated world's residuals included. Hosts never run short, and starting is
// free. So it is a lower bound for every policy that moves no job to another GPU. It need not be
// reached by one that never pauses a job: the best such schedule is searched for too, of those that
// start jobs at time 0 or when another one ends on the same GPU, and run in the simulated world.
//
// The work grows exponentially with the jobs, so larger scenarios are refused. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "research/optimum/configurations.h"
#include "simulation/scenario.h"
#include "simulation/summary.h"

namespace sharewell::research {

using simulation::kOptimalShared;  // its name among the policies

struct SharedOptimumOptions {
  std::size_t max_jobs = 12;
  std::size_t max_gpus = 8;
  ConfigurationOptions configurations;
  std::uint64_t steps = 400'000;  // of the search without pauses
};

struct SharedOptimum {
  double bound = 0;                 // T, in seconds; always proven
  std::vector<core::GpuId> gpu_of;  // by job, of T
  // The best schedule without pauses, as Simulate gives for a policy, in the world without host
  // limits. Decision times are absent.
  simulation::Summary summary;
  // That no schedule of its kind ends sooner; false: not all could be tried, and it is the best of
  // those that were.
  bool schedule_proven = false;
};

// Usage errors: as SolveOptimal's. Failed: the solver gave up.
core::Result<SharedOptimum> SolveSharedOptimum(const simulation::Scenario& scenario,
                                               const SharedOptimumOptions& options = {});

// Fills in summary.distance_from_shared_optimum, over the bound; leaves it absent where `summary`
// has no makespan.
void SetDistance(const SharedOptimum& optimum, simulation::Summary& summary);

}  // namespace sharewell::research
