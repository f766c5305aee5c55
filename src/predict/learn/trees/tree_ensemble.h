// Trees that answer together: the mean over members of the sum of a member's trees. A boosted model
// has one member a bag, of many trees; a forest has one tree a member.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "predict/learn/trees/tree.h"

namespace sharewell::predict::learn {

struct TreeEnsemble {
  double base = 0;                 // what every answer starts from
  std::size_t members = 1;         // at least 1; divides the number of trees
  std::vector<Tree> trees;         // member after member
  std::vector<double> importance;  // by feature: what its splits gained, summing to 1 if any did

  double Predict(std::span<const double> row) const;

  // Standard deviation of the members' answers; absent with one member, which has nobody to differ
  // from.
  std::optional<double> Spread(std::span<const double> row) const;

  friend bool operator==(const TreeEnsemble&, const TreeEnsemble&) = default;
};

// Divided by their sum, where that is above 0.
void MakeShares(std::vector<double>& importance);

}  // namespace sharewell::predict::learn
