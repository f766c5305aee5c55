// The result of simulate for a terminal: figures as rows, policies as columns, notes below.
#pragma once

#include <string>

#include "core/cluster.h"
#include "report/simulation/simulation.h"

namespace sharewell::report {

// At most `width` characters wide: policies that do not fit stand in a further table below.
std::string SimulationTable(const SimulationReport& report, std::size_t width = 100);

std::string InWords(const core::Cluster& cluster);  // "8 H200, 4 A100-80GB on 3 nodes"

}  // namespace sharewell::report
