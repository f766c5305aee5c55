// reactive: Yeung et al.'s other baseline, after Gandiva. A job first runs 60 s alone on an idle
// GPU under profile; what was measured then replaces what was predicted, and it moves once, at no
// cost, to the first shared or single GPU where the measured utilisations sum to at most 100 %, so
// that its own becomes idle for the next. Where there is none it stays, and others may join it.
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewReactivePlacement();

}  // namespace sharewell::policy
