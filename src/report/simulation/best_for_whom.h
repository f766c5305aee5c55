// Which policy is best for whom: for all jobs, for each size and for how many users. The first
// policy is what the others are held against. What differs by less than 1 %, or by less than its
// standard deviation over the seeds, counts as no difference.
#pragma once

#include <string>
#include <vector>

#include "report/simulation/simulation.h"

namespace sharewell::report {

// Whether a site could switch it on: optima and what really happened are no choices.
bool IsChoice(const simulation::Summary& summary);

// At most four lines; none for fewer than two simulated policies. Optima and what really happened
// are no choices.
std::vector<std::string> BestForWhom(const std::vector<PolicyRuns>& policies);

}  // namespace sharewell::report
