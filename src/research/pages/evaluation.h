// An evaluation of learners as a table, JSON, CSV and charts.
#pragma once

#include <string>
#include <vector>

#include "research/evaluate/evaluation.h"

namespace sharewell::research {

std::string EvaluationTable(const Evaluation& evaluation);
std::string EvaluationJson(const Evaluation& evaluation, const std::vector<std::string>& profiles);

// Each figure of each row held out, learner after learner: actual, predicted and bounds.
std::string PredictionsCsv(const Evaluation& evaluation);

// Utilisation predicted against measured by the last learner, families by colour.
std::string UtilisationSvg(const Evaluation& evaluation);

// What the boosted learner looks at; empty where it was not evaluated.
std::string ImportanceSvg(const Evaluation& evaluation);

}  // namespace sharewell::research
