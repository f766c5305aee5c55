#include "core/numbers/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sharewell::core {

std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> Quantile(std::vector<double> values, Ratio q) {
  if (values.empty()) return std::nullopt;
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(place));
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<std::size_t>(below)];
  if (static_cast<std::size_t>(below) + 1 >= values.size()) return low;
  const double high = *std::min_element(values.begin() + below + 1, values.end());
  return low + (high - low) * (place - static_cast<double>(below));
}

std::optional<double> Jain(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  double squares = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  if (squares == 0) return 1;
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace sharewell::core
