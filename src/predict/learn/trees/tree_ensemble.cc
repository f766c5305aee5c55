#include "predict/learn/trees/tree_ensemble.h"

#include <cmath>
#include <numeric>

namespace sharewell::predict::learn {

double TreeEnsemble::Predict(std::span<const double> row) const {
  double sum = 0;
  for (const Tree& tree : trees) sum += tree.Predict(row);
  return base + sum / static_cast<double>(members);
}

std::optional<double> TreeEnsemble::Spread(std::span<const double> row) const {
  if (members < 2) return std::nullopt;
  const std::size_t each = trees.size() / members;
  double sum = 0;
  double squares = 0;
  for (std::size_t m = 0; m < members; ++m) {
    double answer = 0;
    for (std::size_t t = m * each; t < (m + 1) * each; ++t) answer += trees[t].Predict(row);
    sum += answer;
    squares += answer * answer;
  }
  const double n = static_cast<double>(members);
  const double variance = (squares - sum * sum / n) / (n - 1);
  return variance > 0 ? std::sqrt(variance) : 0;
}

void MakeShares(std::vector<double>& importance) {
  const double sum = std::accumulate(importance.begin(), importance.end(), 0.0);
  if (sum <= 0) return;
  for (double& share : importance) share /= sum;
}

}  // namespace sharewell::predict::learn
