// How far predicted speeds beside another job are off, as text or JSON.
#pragma once

#include <optional>
#include <string>

#include "research/evaluate/evaluate_pairs.h"

namespace sharewell::research {

// `gavel`: of Gavel's pairs, where they were evaluated too.
std::string PairEvaluationText(const PairEvaluation& ours, const std::optional<SpeedErrors>& gavel);
std::string PairEvaluationJson(const PairEvaluation& ours, const std::optional<SpeedErrors>& gavel);

}  // namespace sharewell::research
