// An evaluation of learners as a table, JSON, CSV and charts.
#pragma once

#include <string>
#include <vector>

#include "study/prediction/evaluate/evaluation.h"

namespace sharewell::report {

std::string EvaluationTable(const study::Evaluation& evaluation);
std::string EvaluationJson(const study::Evaluation& evaluation,
                           const std::vector<std::string>& profiles);

// Each figure of each row held out, learner after learner: actual, predicted and bounds.
std::string PredictionsCsv(const study::Evaluation& evaluation);

// Utilisation predicted against measured by the last learner, families by colour.
std::string UtilisationSvg(const study::Evaluation& evaluation);

// What the boosted learner looks at; empty where it was not evaluated.
std::string ImportanceSvg(const study::Evaluation& evaluation);

}  // namespace sharewell::report
