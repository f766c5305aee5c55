// What a what-if and a forecast come to: as a table for a terminal, and as the API's JSON.
#pragma once

#include <cstddef>
#include <string>

#include "simulation/replay/forecast.h"
#include "simulation/replay/whatif.h"

namespace sharewell::report {

// Figures as rows, what happened and each policy as columns, remarks below; at most `width` wide
// where the policies allow it.
std::string WhatIfTable(const simulation::WhatIfResult& result, std::size_t width = 100);

// The answer of POST /api/v1/whatif: one JSON object, on one line.
std::string WhatIfJson(const simulation::WhatIfResult& result);
// The answer of GET /api/v1/forecast.
std::string ForecastJson(const simulation::ForecastResult& result);
// The "forecast" of a dry run: {"start_ms":..,"gpus":[..],"why":".."}; without one considered:
// null.
std::string ConsideredJson(const simulation::ForecastResult& result);

}  // namespace sharewell::report
