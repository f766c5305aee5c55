// Means, quantiles, fairness and correlation of plain number rows.
#pragma once

#include <optional>
#include <vector>

#include "core/units.h"

namespace sharewell::core {

// Absent for an empty row: a mean of nothing is not 0.
std::optional<double> Mean(const std::vector<double>& values);

// The q-quantile by linear interpolation between order statistics (the common "type 7").
std::optional<double> Quantile(std::vector<double> values, Ratio q);

// Jain's index: 1 when all are equal, 1/n when one has everything.
std::optional<double> Jain(const std::vector<double>& values);

// Correlation of two rows, -1 to 1: of the values (Pearson) or of their ranks, ties as their mean
// (Spearman). Absent where either does not vary. REQUIRES rows of one length.
std::optional<double> Pearson(const std::vector<double>& a, const std::vector<double>& b);
std::optional<double> Spearman(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace sharewell::core
