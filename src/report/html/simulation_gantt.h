// Which job was on which GPU in a simulation. For simulation_report.cc.
#pragma once

#include <optional>

#include "report/chart/gantt.h"
#include "simulation/results.h"

namespace sharewell::report {

// Coloured by user. Absent: nothing was placed on a GPU, or there is more than a chart can show.
std::optional<Gantt> SimulationGantt(const simulation::PolicyResult& policy);

}  // namespace sharewell::report
