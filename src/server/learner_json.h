// What the learner did and how things stand, as JSON: for the store, the API and `/metrics`.
#pragma once

#include <string>

#include "core/result.h"
#include "server/learner.h"

namespace sharewell::server {

// One training as the store keeps it, without id and time.
std::string ReportToJson(const TrainingReport& report);
core::Result<TrainingReport> ReportFromJson(const std::string& text);

std::string LearnerJson(const LearnerState& state);     // GET /api/v1/predictor
std::string LearnerMetrics(const LearnerState& state);  // for /metrics

}  // namespace sharewell::server
