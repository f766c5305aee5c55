// WhatIf: what this server's own jobs would have taken under other policies. Its history and its
// queue are played in the simulator from the first submission on, on the same machine, beside what
// really happened. docs/simulator.md says what the simulated world knows and does not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job_record.h"
#include "core/result.h"
#include "study/simulation/replay/job_history.h"

namespace sharewell::study {

struct WhatIfOptions {
  core::UnixMillis now = 0;
  std::size_t most_jobs = 20'000;   // of more, the last ones
  core::Ratio max_slowdown = 1.25;  // the server's
  core::Seconds restart_cost{10};   // of a job that is moved or stopped
};

// Unknown is absent.
struct WhatIfRow {
  std::string name;                    // the policy; of what happened "really"
  std::size_t jobs = 0, finished = 0;  // finished: all that ended by themselves
  std::optional<double> makespan, jct_mean, queueing_mean, slowdown_mean;  // seconds; a ratio
  std::optional<double> busy;  // of the GPUs' time over the makespan
  std::size_t moves = 0, ooms = 0;

  friend bool operator==(const WhatIfRow&, const WhatIfRow&) = default;
};

struct WhatIfResult {
  std::vector<WhatIfRow> policies;   // as asked for
  std::optional<WhatIfRow> really;   // of the jobs that are over; absent where none is
  std::size_t jobs = 0;              // played
  std::vector<std::string> remarks;  // what was assumed, one sentence each
};

// `records`: over and live, in any order. An unknown policy, or none, is a usage error; so is a
// history without any job that can be played.
core::Result<WhatIfResult> WhatIf(JobRecords records, const core::Cluster& cluster,
                                  std::span<const core::SharedRun> shared,
                                  std::span<const std::string> policies,
                                  const WhatIfOptions& options);

}  // namespace sharewell::study
