// The result of simulate as one JSON document: numbers, the unit in the key, null for unknown.
#pragma once

#include <string>

#include "json/writer.h"
#include "report/simulation/simulation.h"

namespace sharewell::report {

// Indented, ending in a line break. Text that is no UTF-8 has its broken bytes replaced.
std::string SimulationJson(const SimulationReport& report);
// Its members, for a document that has more.
void WriteSimulation(json::Writer& out, const SimulationReport& report);

}  // namespace sharewell::report
