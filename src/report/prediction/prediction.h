// Predictions as text, JSON and CSV. JSON and CSV have the same flat rows; percent where the key
// says util or activity, else the unit in the key; null (empty in CSV) is unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advice/prediction.h"

namespace sharewell::report {

// `price`: of a GPU for an hour; absent: no cost.
std::string PredictionTable(const advice::PredictionRow& row, std::optional<double> price);
std::string PredictionsTable(const std::vector<advice::PredictionRow>& rows);
std::string PredictionsJson(const std::vector<advice::PredictionRow>& rows,
                            std::optional<double> price);
std::string PredictionsCsv(const std::vector<advice::PredictionRow>& rows,
                           std::optional<double> price);

std::string SpeedsTable(const std::vector<advice::SpeedRow>& rows);
std::string SpeedsJson(const std::vector<advice::SpeedRow>& rows);
std::string SpeedsCsv(const std::vector<advice::SpeedRow>& rows);

}  // namespace sharewell::report
