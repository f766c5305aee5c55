#include "predict/learn/scaler.h"

#include <algorithm>
#include <cmath>

namespace sharewell::predict::learn {

Scaler Scaler::Of(const Table& table) {
  Scaler out;
  for (std::size_t f = 0; f < table.columns(); ++f) {
    double sum = 0;
    double weight = 0;
    double largest = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const double x = table.Row(i)[f];
      if (std::isnan(x)) continue;
      sum += table.Weight(i) * x;
      weight += table.Weight(i);
      largest = std::max(largest, std::abs(x));
    }
    const double mean = weight > 0 ? sum / weight : 0;
    double squares = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const double x = table.Row(i)[f];
      if (!std::isnan(x)) squares += table.Weight(i) * (x - mean) * (x - mean);
    }
    const double deviation = weight > 0 ? std::sqrt(squares / weight) : 0;
    if (!std::isfinite(mean) || !std::isfinite(deviation)) {
      // Its numbers are too large to square: no use to anyone.
      out.means.push_back(0);
      out.factors.push_back(0);
      continue;
    }
    out.means.push_back(mean);
    // Below this it is the rounding of a constant, which would be blown up to a feature.
    out.factors.push_back(deviation > 1e-10 * largest ? 1 / deviation : 0);
  }
  return out;
}

void Scaler::Apply(std::span<const double> row, std::span<double> out) const {
  for (std::size_t f = 0; f < columns(); ++f) {
    out[f] = std::isnan(row[f]) ? 0 : (row[f] - means[f]) * factors[f];
  }
}

}  // namespace sharewell::predict::learn
