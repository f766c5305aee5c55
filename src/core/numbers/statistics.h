// Means, quantiles and fairness of plain number rows.
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

}  // namespace sharewell::core
