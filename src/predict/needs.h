// A prediction as what a job is believed to need. Pure; the one place where the figures of a
// prediction become those of a job.
#pragma once

#include "core/job/submission.h"
#include "core/units.h"
#include "predict/predictor.h"

namespace sharewell::predict {

// Medians as the profile, the 95 % bounds of GPU memory, cores and steps a second beside it.
// `all_reduce`: what exchanging gradients adds to a step on several GPUs. Which workload on which
// GPU model it is, and `from`, are the caller's to say.
core::Needs NeedsOf(const Prediction& prediction, core::Seconds all_reduce = {});

}  // namespace sharewell::predict
