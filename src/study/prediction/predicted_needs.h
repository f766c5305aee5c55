// A prediction as what a submission brings with it: for `sharewell submit --model` and the API.
#pragma once

#include "core/submission.h"
#include "study/prediction/prediction.h"

namespace sharewell::study {

// Medians as the profile, the 95 % bounds of memory and cores beside it. `from` names the model
// file and its batch.
core::Needs NeedsFrom(const PredictionRow& row);

}  // namespace sharewell::study
