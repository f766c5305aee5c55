// pack: first fit on predicted utilisation (Yeung et al., section 6): an idle GPU while there is
// one, else the first GPU on which the predicted utilisations sum to at most 100 %, with at most
// three jobs, whose predicted memory fits. Gangs, exclusive jobs and jobs that ran out of memory
// get whole GPUs. With the order `decreasing` this is the paper's modified first-fit decreasing.
// The paper does not say how it was modified; taking idle GPUs first is ours.
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewPackPlacement();

}  // namespace sharewell::policy
