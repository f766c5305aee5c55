// How near recommendations are to the best of measured sweeps, as text and JSON. In JSON units are
// in the key; null is unknown.
#pragma once

#include <string>
#include <vector>

#include "research/evaluate/judged_sweep.h"

namespace sharewell::research {

std::string JudgedSweepsText(const std::vector<JudgedSweep>& sweeps);
std::string JudgedSweepsJson(const std::vector<JudgedSweep>& sweeps);

}  // namespace sharewell::research
