// The result of reproduce: what the papers say and what we get, side by side.
#pragma once

#include <string>
#include <vector>

#include "research/reproduce/reproduce.h"

namespace sharewell::research {

// Notes, assumptions and answers are wrapped to `width`; grids are as wide as they are.
std::string ExperimentsTable(const std::vector<Experiment>& experiments, std::size_t width = 100);
std::string ExperimentsJson(const std::vector<Experiment>& experiments);

}  // namespace sharewell::research
