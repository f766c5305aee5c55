// Who gains and who loses under each policy of a simulation against the first one: by user, and the
// jobs that change most.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/html/page.h"
#include "simulation/results.h"

namespace sharewell::report {

// Each user under each policy, against the first one.
HtmlTable UsersUnderPolicies(const simulation::SimulationResults& results);

// A sentence and a table of jobs for each policy but the first; empty tables where nobody changes.
struct PolicyGains {
  std::string words;
  HtmlTable jobs;
};
std::vector<PolicyGains> GainsUnderPolicies(const simulation::SimulationResults& results);

}  // namespace sharewell::report
