// How far predicted speeds beside another job are off, as text or JSON.
#pragma once

#include <optional>
#include <string>

#include "study/prediction/evaluate/evaluate_pairs.h"

namespace sharewell::report {

// `gavel`: of Gavel's pairs, where they were evaluated too.
std::string PairEvaluationText(const study::PairEvaluation& ours,
                               const std::optional<study::SpeedErrors>& gavel);
std::string PairEvaluationJson(const study::PairEvaluation& ours,
                               const std::optional<study::SpeedErrors>& gavel);

}  // namespace sharewell::report
