// Who used the GPUs, how much of them was held, shared and busy, and what sharing saved: the API's
// JSON, from the same figures as the week's report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/html/week_report.h"
#include "simulation/usage/gpu_time.h"
#include "simulation/usage/savings.h"

namespace sharewell::report {

struct UsageBin {
  core::UnixMillis from = 0;
  double held = 0, shared = 0;  // shares of the GPUs' time
  std::optional<double> busy;   // mean of the GPUs that were sampled
};

// The answer of GET /api/v1/usage: one JSON object, on one line. Of very many users those who used
// most.
std::string UsageJson(const WeekParts& parts, const std::vector<UsageBin>& bins,
                      const simulation::Savings& savings);

}  // namespace sharewell::report
