// What became of each job, and each decision, as CSV. Empty is unknown.
#pragma once

#include <string>

#include "simulation/scenario.h"
#include "simulation/simulate.h"

namespace sharewell::report {

std::string JobsCsv(const simulation::Scenario& scenario, const simulation::Simulation& simulation);

// GPUs as "node:gpu", with spaces between; a CPU-only job's place is its node's name alone.
std::string DecisionsCsv(const simulation::Scenario& scenario,
                         const simulation::Simulation& simulation);

// A policy's name as a part of a file's name: letters, digits, '-' and '_' only.
std::string FileNamePart(const std::string& policy);

}  // namespace sharewell::report
