// The result of simulate for a terminal: which policy is best for whom, then figures as rows and
// policies as columns, the same by size, users, and notes below.
#pragma once

#include <string>
#include <vector>

#include "core/cluster.h"
#include "report/simulation/simulation.h"

namespace sharewell::report {

// At most `width` characters wide: policies that do not fit stand in a further table below.
std::string SimulationTable(const SimulationReport& report, std::size_t width = 100);

// The rows of that table, those by size last.
std::vector<SummaryRow> SummaryRows(const std::vector<simulation::Summary>& results);

std::string InWords(const core::Cluster& cluster);  // "8 H200, 4 A100-80GB on 3 nodes"

}  // namespace sharewell::report
