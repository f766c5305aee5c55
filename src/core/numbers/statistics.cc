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

namespace {

// Places in the order of the values, ties as their mean.
std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

}  // namespace

std::optional<double> Pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = Mean(a).value_or(0);
  const double mean_b = Mean(b).value_or(0);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa <= 0 || bb <= 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::optional<double> Spearman(const std::vector<double>& a, const std::vector<double>& b) {
  return Pearson(Ranks(a), Ranks(b));
}

}  // namespace sharewell::core
