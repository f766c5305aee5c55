// Gradient boosting for squared error: each tree learns what those before it left over (Friedman,
// 2001), with XGBoost's regularisation (tree_grower.h).
#pragma once

#include <cstdint>

#include "predict/learn/table.h"
#include "predict/learn/trees/tree_ensemble.h"

namespace sharewell::predict::learn {

struct BoostingOptions {
  int rounds = 300;
  int depth = 4;
  double eta = 0.05;  // how much of each tree is taken
  double lambda = 1;
  double min_child_weight = 1;
  double gamma = 0;
  double subsample = 1;       // share of the rows a tree sees
  double colsample = 1;       // share of the features a tree sees
  double colsample_node = 1;  // share of those a node sees
  int bags = 1;  // differently seeded boosters, averaged; one where nothing is drawn by chance
  std::uint64_t seed = 1;
  friend bool operator==(const BoostingOptions&, const BoostingOptions&) = default;
};

// REQUIRES a table that passes Check(), and rounds and bags of at least 1.
TreeEnsemble FitBoosted(const BoostingOptions& options, const Table& table);

}  // namespace sharewell::predict::learn
