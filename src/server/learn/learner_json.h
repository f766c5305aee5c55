// What the learner did and how things stand, as JSON: for the store, the API and `/metrics`.
#pragma once

#include <map>
#include <string>

#include "core/result.h"
#include "server/learn/learner.h"
#include "server/learn/run_memory.h"

namespace sharewell::server {

// One training as the store keeps it, without id and time.
std::string ReportToJson(const TrainingReport& report);
core::Result<TrainingReport> ReportFromJson(const std::string& text);

// GET /api/v1/predictor; `taught`: by user, whose runs taught what of workloads.
std::string LearnerJson(const LearnerState& state, const std::map<std::string, Lessons>& taught);
std::string LearnerMetrics(const LearnerState& state);  // for /metrics

}  // namespace sharewell::server
