// The result of simulate as one JSON document: numbers, the unit in the key, null for unknown.
#pragma once

#include <string>

#include "report/simulation/simulation.h"

namespace sharewell::report {

// Indented, ending in a line break. Text that is no UTF-8 has its broken bytes replaced.
std::string SimulationJson(const SimulationReport& report);

}  // namespace sharewell::report
