// The result of reproduce: what the papers say and what we get, side by side.
#pragma once

#include <string>
#include <vector>

#include "study/reproduce/reproduce.h"

namespace sharewell::report {

// Notes, assumptions and answers are wrapped to `width`; grids are as wide as they are.
std::string ExperimentsTable(const std::vector<study::Experiment>& experiments,
                             std::size_t width = 100);
std::string ExperimentsJson(const std::vector<study::Experiment>& experiments);

}  // namespace sharewell::report
