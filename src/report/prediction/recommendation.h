// Recommendations as text and JSON, and how near they are to the best of measured sweeps. In JSON
// percent and units are in the key; null is unknown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/recommend/judged_sweep.h"
#include "study/recommend/recommendation.h"

namespace sharewell::report {

// Sentences are wrapped to `width`.
std::string RecommendationText(const study::recommend::Recommendation& answer,
                               std::size_t width = 100);
std::string RecommendationJson(const study::recommend::Recommendation& answer);

std::string JudgedSweepsText(const std::vector<study::recommend::JudgedSweep>& sweeps);
std::string JudgedSweepsJson(const std::vector<study::recommend::JudgedSweep>& sweeps);

}  // namespace sharewell::report
