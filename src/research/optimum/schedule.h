// Schedule: the soonest that one GPU can be done with some jobs when none of them is ever paused:
// each starts at time 0 or when another one ends there, and keeps its share of the SMs. Found by
// trying all of it, cut short by what turns.h says of the work that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "research/optimum/configurations.h"
#include "research/optimum/turns.h"

namespace sharewell::research {

struct ScheduledStart {
  std::uint8_t job = 0;
  core::Ratio sm_share = 1;
  JobSet after = 0;  // it starts once these have ended; none: at time 0
};

struct Schedule {
  double seconds = 0;
  std::vector<ScheduledStart> starts;  // in their order
};

// The best that ends before `cutoff`, or any that ends by `enough`; absent: there is none. `steps`
// is how many partial schedules may still be looked at, and is counted down; where it reaches 0 the
// search ends with what it has.
std::optional<Schedule> BestSchedule(const Configurations& configurations, JobSet jobs,
                                     const Turns& turns, double enough, double cutoff,
                                     std::uint64_t& steps);

}  // namespace sharewell::research
