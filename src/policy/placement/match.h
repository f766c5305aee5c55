// match: GPU generations by gain (Takayama et al., section IV.D). From the mix of jobs in the
// snapshot (those that are over too, as long as they are remembered), sorted by how much they gain
// from the better model, the top is planned for the fastest model, the next for the one below it,
// and so on, each slower model with 7/8 of the time of the one above: the slower generation gets
// what loses least on it, and is not planned to the brim, because whatever it takes last takes it
// longest. A job waits for its model, but no longer than match_patience times its own duration:
// then it takes whatever is idle, so that no type starves. Whole GPUs; durations unknown count as
// equal, and for patience as long as those that run have run so far, ten minutes at least.
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewMatchPlacement();

}  // namespace sharewell::policy
