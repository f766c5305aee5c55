// Who gains and who loses when a policy takes the place of another: by job, and by user. Pure; from
// completion times alone, whoever found them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "simulation/scenario.h"

namespace sharewell::simulation {

// Of each job, by JobId, in seconds; absent: it did not finish, or it is not known.
using CompletionTimes = std::vector<std::optional<double>>;

// One user's jobs: what really happened first, where it is known, then each policy. Mean
// completion times of the jobs that have finished, in seconds.
struct UserOutcome {
  std::string user;
  std::size_t jobs = 0;
  double gpu_hours = 0;  // alone
  std::vector<std::optional<double>> jct_mean;
};

// A job that ends sooner or later than under the first policy.
struct JobChange {
  std::size_t job = 0;           // its JobId's index
  double before = 0, after = 0;  // completion times, in seconds
};

// Of the jobs that finish under both the first policy and this one.
struct PolicyChange {
  std::string policy;
  std::size_t sooner = 0, later = 0, same = 0;  // same: within a twentieth
  std::optional<double> jct_mean;               // of the mean, less 1; below 0 is better
  std::optional<double> worst;  // the job that loses most: its completion time over the first's
  std::vector<JobChange> gains = {}, losses = {};  // the largest by time, at most ten of each
};

PolicyChange ChangeOf(const std::string& policy, const CompletionTimes& first,
                      const CompletionTimes& then);

// By GPU hours, falling. `columns`: each of all jobs.
std::vector<UserOutcome> UsersOf(const Scenario& scenario,
                                 const std::vector<CompletionTimes>& columns);

// The curve of a distribution, thinned: of m values the i-th is what (i + 1) / m of the jobs do not
// exceed. At most `most` of them.
std::vector<double> CurveOf(std::vector<double> values, std::size_t most = 100);

}  // namespace sharewell::simulation
