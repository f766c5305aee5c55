// Parts of Yeung et al. that take longer than its Table 4: the predictor of its Table 3, and the
// optimum with co-location that its future work asks for.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// Learners on the paper's features beside our predictor, on data/h200 as it lies in the current
// folder: the graphs are not carried in the program. A usage error where it is not there.
core::Result<Experiment> YeungPredictor(const ReproduceOptions& options);

// 12 jobs on 4 GPUs: how far policies end after what is possible at all.
core::Result<Experiment> YeungOptimum(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
