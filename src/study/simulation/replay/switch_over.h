// SwitchOver: what a site's own history would have come to under other policies, before anything is
// switched on. The trace tells what really happened (how long each job waited); the policies are
// simulated over the same jobs. The first policy stands for what the site does today, and the
// others are compared with it: who gains, who loses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "study/simulation/scenario.h"
#include "study/simulation/simulate.h"

namespace sharewell::study {

// One user's jobs: what really happened first, where it is known, then each policy. Mean
// completion times of the jobs that have finished, in seconds.
struct UserOutcome {
  std::string user;
  std::size_t jobs = 0;
  double gpu_hours = 0;  // alone
  std::vector<std::optional<double>> jct_mean;
};

// Of the jobs that finish under both the first policy and this one.
struct PolicyChange {
  std::string policy;
  std::size_t sooner = 0, later = 0, same = 0;  // same: within a twentieth
  std::optional<double> jct_mean;               // of the mean, less 1; below 0 is better
  std::optional<double> worst;  // the job that loses most: its completion time over the first's
};

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

}  // namespace sharewell::study
