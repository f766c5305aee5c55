// Why a job is evicted, for its user: who is slowed, by how much, beyond whose bound, and what
// comes next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/loop/guard.h"
#include "control/service/jobs/live_jobs.h"

namespace sharewell::control {

struct EvictionWords {
  std::string reason;  // while it is being ended
  std::string note;    // afterwards
};

// Of `job`. `beside`: the numbers of those who stay. `alone_next`: it was evicted often enough.
EvictionWords WhyEvicted(core::JobId job, const core::reason::Evicted& why,
                         const std::vector<std::int64_t>& beside, bool alone_next,
                         const LiveJobs& live);

// For whom is slowed, and nobody may be evicted for.
std::string WhyItStays(const Eviction& eviction, const LiveJobs& live);

}  // namespace sharewell::control
