// Turns: the least time in which one GPU can do some jobs when they may take turns freely: the
// linear program
//
//   least sum of x_c   with   sum of x_c speed_c(j) = seconds of j alone, for each job j;  x >= 0
//
// over the configurations c of those jobs, x_c being how long the GPU runs c. Pausing costs nothing
// there, so that no schedule of these jobs on that GPU, paused or not, ends sooner.
#pragma once

#include <vector>

#include "core/result.h"
#include "research/optimum/configurations.h"

namespace sharewell::research {

struct Turns {
  double seconds = 0;
  // What a second of each job's work alone is worth, by job (0 for those not asked for): the dual.
  // Work of these jobs that is left, weighed so, is a lower bound on the time that is left.
  std::vector<double> worth;
};

// Infinite seconds where one of them cannot run on this model. Failed: the solver gave up.
core::Result<Turns> TakeTurns(const Configurations& configurations, JobSet jobs);

}  // namespace sharewell::research
