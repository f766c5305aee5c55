#include "predict/learn/linear.h"

#include <algorithm>
#include <cmath>

#include "predict/learn/gaussian/cholesky.h"
#include "predict/learn/target_mean.h"
#include "predict/learn/trees/tree_ensemble.h"

namespace sharewell::predict::learn {

Linear FitLinear(const LinearOptions& options, const Table& table) {
  SHAREWELL_CHECK(options.lambda > 0);
  const std::size_t p = table.columns();
  Linear model;
  model.scaler = Scaler::Of(table);
  // Standardised columns have mean 0 over their known values only; once missing values are 0 that
  // holds over all rows, so the mean of the targets is the intercept.
  model.intercept = TargetMean(table);
  std::vector<double> normal(p * p);
  model.coefficients.assign(p, 0);
  std::vector<double> z(p);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    model.scaler.Apply(table.Row(i), z);
    const double weight = table.Weight(i);
    const double target = weight * (table.targets[i] - model.intercept);
    for (std::size_t a = 0; a < p; ++a) {
      model.coefficients[a] += z[a] * target;
      const double za = weight * z[a];
      for (std::size_t b = 0; b <= a; ++b) normal[a * p + b] += za * z[b];
    }
  }
  for (std::size_t a = 0; a < p; ++a) normal[a * p + a] += options.lambda;
  // A sum of squares with something positive on the diagonal; columns that copy each other can
  // still round to singular, and more on the diagonal mends that.
  std::vector<double> factor = normal;
  for (double more = options.lambda; !Factorise(factor, p); more *= 10) {
    for (std::size_t a = 0; a < p; ++a) normal[a * p + a] += more;
    factor = normal;
  }
  SolveFactored(factor, p, model.coefficients);
  return model;
}

double Linear::Predict(std::span<const double> row) const {
  double sum = intercept;
  for (std::size_t f = 0; f < coefficients.size(); ++f) {
    if (!std::isnan(row[f])) {
      sum += coefficients[f] * ((row[f] - scaler.means[f]) * scaler.factors[f]);
    }
  }
  return sum;
}

std::vector<double> Linear::Importance() const {
  std::vector<double> out(coefficients.size());
  std::transform(coefficients.begin(), coefficients.end(), out.begin(),
                 [](double c) { return std::abs(c); });
  MakeShares(out);
  return out;
}

}  // namespace sharewell::predict::learn
