// Recommendations as text and JSON. In JSON percent and units are in the key; null is unknown.
#pragma once

#include <cstddef>
#include <string>

#include "advice/recommend/recommendation.h"

namespace sharewell::report {

// Sentences are wrapped to `width`.
std::string RecommendationText(const advice::recommend::Recommendation& answer,
                               std::size_t width = 100);
std::string RecommendationJson(const advice::recommend::Recommendation& answer);

}  // namespace sharewell::report
