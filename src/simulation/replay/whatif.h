// WhatIf: what this server's own jobs would have taken under other policies. Its history and its
// queue are played in the simulator from the first submission on, on the same machine, beside what
// really happened. docs/simulator.md says what the simulated world knows and does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"
#include "core/result.h"
#include "policy/options.h"
#include "simulation/replay/gains.h"
#include "simulation/replay/job_history.h"
#include "simulation/summary.h"

namespace sharewell::simulation {

struct WhatIfOptions {
  core::UnixMillis now = 0;
  std::size_t most_jobs = 20'000;                            // of more, the last ones
  core::Ratio max_slowdown = 1.25;                           // the server's
  double match_patience = policy::Options().match_patience;  // likewise
  core::Seconds restart_cost{10};                            // of a job that is moved or stopped
  // Told now and then: which of the policies is played, and how many of its jobs have ended.
  std::function<void(std::size_t policy, std::size_t done, std::size_t of)> progress = {};
};

// Unknown is absent.
struct WhatIfRow {
  std::string name;                    // the policy; of what happened "really"
  std::size_t jobs = 0, finished = 0;  // finished: all that ended by themselves
  std::optional<double> makespan, jct_mean, queueing_mean, slowdown_mean;  // seconds; a ratio
  std::optional<double> busy;  // of the GPUs' time over the makespan
  std::size_t moves = 0, ooms = 0;
  // Distributions over jobs (CurveOf): seconds, seconds, a ratio.
  std::vector<double> jct_curve = {}, queueing_curve = {}, slowdown_curve = {};
  std::vector<GroupTimes> by_size = {}, by_user = {};

  friend bool operator==(const WhatIfRow&, const WhatIfRow&) = default;
};

// A job of which somebody should know how it changes.
struct NamedChange {
  std::int64_t number = 0;
  std::string name, user;
  double before = 0, after = 0;  // completion times, in seconds
};

// Of one policy against the first one.
struct WhatIfChange {
  PolicyChange change;
  std::vector<NamedChange> gains, losses;  // the largest
};

struct WhatIfResult {
  std::vector<WhatIfRow> policies;         // as asked for
  std::optional<WhatIfRow> really;         // of the jobs that are over; absent where none is
  std::size_t jobs = 0;                    // played
  std::vector<std::string> remarks;        // what was assumed, one sentence each
  std::vector<WhatIfChange> changes = {};  // of each policy but the first
  std::vector<UserOutcome> users = {};     // their columns: the policies, then what really happened
};

// What a simulated run comes to, with its distributions.
WhatIfRow RowOf(const std::string& name, const Scenario& scenario, const Summary& summary,
                std::span<const sim::JobOutcome> outcomes);

// `records`: over and live, in any order. An unknown policy, or none, is a usage error; so is a
// history without any job that can be played.
core::Result<WhatIfResult> WhatIf(JobRecords records, const core::Cluster& cluster,
                                  std::span<const core::SharedRun> shared,
                                  std::span<const std::string> policies,
                                  const WhatIfOptions& options);

}  // namespace sharewell::simulation
