// SwitchOver: what a site's own history would have come to under other policies, before anything is
// switched on. The trace tells what really happened (how long each job waited); the policies are
// simulated over the same jobs. The first policy stands for what the site does today, and the
// others are compared with it: who gains, who loses.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "simulation/replay/gains.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"

namespace sharewell::simulation {

struct SwitchOverResult {
  Comparison compared;  // "really" first, where the trace tells it
  bool really = false;
  std::vector<UserOutcome> users;     // by GPU hours, falling
  std::vector<PolicyChange> changes;  // of each policy but the first
  std::vector<std::string> notes;
};

// As ComparePolicies. REQUIRES: at least one policy, and none of them "optimal".
core::Result<SwitchOverResult> SwitchOver(const Scenario& scenario,
                                          const std::vector<std::string>& policies,
                                          CompareOptions options);

}  // namespace sharewell::simulation
