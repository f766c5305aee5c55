// What CODA draws of a training job's cores and bandwidths (its figures 4 and 5), as we measured it
// beside one H200.
#pragma once

#include "core/result.h"
#include "research/reproduce/core_sweep.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// `cores_needed_LABEL`: its knee, and what the next fewer cores keep, where there are any.
ReproduceRow CoresNeeded(const CoreCurve& curve);

// Cores needed by model and batch; PCIe traffic, and the least memory traffic that goes with it.
core::Result<void> CodaMeasured(Experiment& experiment);

}  // namespace sharewell::research::reproduce
