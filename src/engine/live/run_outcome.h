// What a run's end means for the queue: a function of why it was told to end, if it was, of how it
// did, and of what its user allows.
#pragma once

#include "engine/live/ended.h"
#include "engine/live/live_job.h"
#include "engine/run_end.h"

namespace sharewell::engine {

// Of the run of `job`, which ended so. `most_ooms`: so often it is tried again.
// REQUIRES: it has one.
Outcome OutcomeOf(const JobEntry& job, const RunEnd& end, int most_ooms);

}  // namespace sharewell::engine
