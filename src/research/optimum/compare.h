// ComparePolicies that knows the optima too.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"

namespace sharewell::research {

// "optimal" among the policies is the least makespan without sharing (optimal.h) and
// "optimal-shared" that with sharing (shared_optimum.h), from which the others get their distances;
// where others are asked for too, an optimum that is not proven in time is a note. Results are in
// the order of the policies. An error names the policy.
core::Result<simulation::Comparison> CompareWithOptima(const simulation::Scenario& scenario,
                                                       const std::vector<std::string>& policies,
                                                       simulation::CompareOptions options);

}  // namespace sharewell::research
