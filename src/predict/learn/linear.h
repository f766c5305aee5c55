// Ridge regression: least squares on standardised features with an intercept that is not shrunk.
// What it adds to trees: it goes on beyond the rows it has seen.
#pragma once

#include <span>
#include <vector>

#include "predict/learn/scaler.h"
#include "predict/learn/table.h"

namespace sharewell::predict::learn {

struct LinearOptions {
  double lambda = 1;  // added to the diagonal of Z'Z, as scikit-learn's alpha
  friend bool operator==(const LinearOptions&, const LinearOptions&) = default;
};

struct Linear {
  Scaler scaler;
  double intercept = 0;
  std::vector<double> coefficients;  // of the standardised features

  double Predict(std::span<const double> row) const;
  // The coefficients' sizes, summing to 1 if any is not 0.
  std::vector<double> Importance() const;
  friend bool operator==(const Linear&, const Linear&) = default;
};

// REQUIRES a table that passes Check(), and lambda above 0.
Linear FitLinear(const LinearOptions& options, const Table& table);

}  // namespace sharewell::predict::learn
