// Yeung et al.'s figures 2a, 2b, 3a and 5a, from what was measured on an H200: utilisation, FLOPs,
// kernels, and slowdown against the sum of utilisation.
#pragma once

#include <vector>

#include "core/result.h"
#include "predict/predictor.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// `predictor`: the one in the program, which knows the FLOPs of the workloads that it learnt from.
core::Result<void> AddYeungFigures(const predict::Predictor& predictor,
                                   std::vector<ReproduceRow>& rows);

}  // namespace sharewell::research::reproduce
