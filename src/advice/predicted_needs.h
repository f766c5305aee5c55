// A prediction as what a submission brings with it: for `sharewell submit --model` and the API.
#pragma once

#include <optional>
#include <string>

#include "advice/prediction.h"
#include "catalogue/gpu_catalogue.h"
#include "core/job/submission.h"
#include "core/result.h"

namespace sharewell::advice {

// Medians as the profile, the 95 % bounds of memory and cores beside it; `from` names
// row.ask.model.
core::Needs NeedsFrom(const PredictionRow& row);

// What a model predicts for `ask`; `from` names the model file and its batch.
// `name`: what the user calls the file where ask.model is a copy of it; errors and the needs then
// name that. Absent: ask.model is the user's own.
core::Result<core::Needs> PredictNeedsBy(const predict::Predictor& predictor,
                                         const PredictionAsk& ask,
                                         const catalogue::GpuCatalogue& catalogue,
                                         const std::optional<std::string>& name = std::nullopt);

}  // namespace sharewell::advice
