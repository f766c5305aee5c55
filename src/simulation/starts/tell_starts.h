// TellStarts: when the jobs that wait should start, as far as that may be told. The queue is played
// on twice: once as if nobody came after now, once as if jobs kept coming as within the last hour.
// Where the two are far apart, the start hangs on who comes, and nothing is told.
//
// A server's expected starts and those that `simulate --score-starts` scores are told by this one
// function.
#pragma once

#include <vector>

#include "simulation/starts/play_on.h"

namespace sharewell::simulation {

// As PlayOn, whose `more_come` is not asked for here; a start is there only where it may be told.
core::Result<std::vector<Played>> TellStarts(const core::Snapshot& from,
                                             const policy::Policy& policy,
                                             const interference::Interference& interference,
                                             Rests rests, PlayOnOptions options);

}  // namespace sharewell::simulation
