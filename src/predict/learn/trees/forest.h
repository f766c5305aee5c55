// Random forest (Breiman, 2001) and extra-trees (Geurts, Ernst and Wehenkel, 2006): the mean of
// deep trees that differ by chance.
#pragma once

#include <cstdint>

#include "predict/learn/table.h"
#include "predict/learn/trees/tree_ensemble.h"

namespace sharewell::predict::learn {

struct ForestOptions {
  bool extra = false;  // extra-trees: all rows, thresholds drawn; else: bootstrapped rows
  int trees = 300;
  int depth = 0;  // 0: no limit
  double min_child_weight = 1;
  double colsample_node = 0.33;  // share of the features each node sees
  std::uint64_t seed = 1;
  friend bool operator==(const ForestOptions&, const ForestOptions&) = default;
};

// REQUIRES a table that passes Check(), and at least one tree.
TreeEnsemble FitForest(const ForestOptions& options, const Table& table);

}  // namespace sharewell::predict::learn
