// What `simulate --out DIR` wrote as a page: the policies side by side, how long jobs took and
// waited, what ran where, and which users gain or lose.
#pragma once

#include <string>
#include <string_view>

#include "simulation/results.h"

namespace sharewell::report {

std::string SimulationPage(const simulation::SimulationResults& results, std::string_view made);

}  // namespace sharewell::report
