// What `sharewell whatif --trace` has to say: the policies side by side, as simulate prints them,
// with what really happened first; then who gains and who loses.
#pragma once

#include <cstddef>
#include <string>

#include "report/simulation/simulation.h"
#include "simulation/replay/switch_over.h"

namespace sharewell::report {

// `report`: its results are those of `result`.
std::string SwitchOverText(const SimulationReport& report,
                           const simulation::SwitchOverResult& result, std::size_t width = 100);
// The document of simulate, and in addition "changes" and "users".
std::string SwitchOverJson(const SimulationReport& report,
                           const simulation::SwitchOverResult& result);

}  // namespace sharewell::report
