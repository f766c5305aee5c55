// A told step says itself how it was run; what a user said beside it may not contradict it.
#pragma once

#include "advice/prediction.h"
#include "core/result.h"

namespace sharewell::advice {

// Where `ask.model` is a told step (docs/formats/told-step.md): puts its batch, precision,
// optimizer and loader processes into `ask`, as far as they are told. A usage error where the user
// gave another (ask.given), or the step cannot be read. All other files: nothing.
core::Result<void> HeedTold(PredictionAsk& ask);

}  // namespace sharewell::advice
