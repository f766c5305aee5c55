#include "predict/learn/trees/forest.h"

#include <vector>

#include "core/numbers/random.h"
#include "predict/learn/target_mean.h"
#include "predict/learn/trees/sorted_columns.h"
#include "predict/learn/trees/tree_grower.h"

namespace sharewell::predict::learn {
namespace {

// As many rows as there are, drawn with replacement; how often each came scales its weight.
void Bootstrap(const Table& table, std::uint64_t seed, std::vector<double>& weights) {
  const std::size_t n = table.rows();
  weights.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t row = core::HashOf({seed, i}) % n;
    weights[row] += table.Weight(row);
  }
}

}  // namespace

TreeEnsemble FitForest(const ForestOptions& options, const Table& table) {
  SHAREWELL_CHECK(options.trees >= 1);
  TreeOptions tree_options;
  tree_options.depth = options.depth;
  tree_options.lambda = 0;
  tree_options.min_child_weight = options.min_child_weight;
  tree_options.colsample_node = options.colsample_node;
  tree_options.random_threshold = options.extra;

  TreeEnsemble model;
  model.base = TargetMean(table);
  model.importance.resize(table.columns());
  if (ConstantTarget(table)) return model;
  model.members = static_cast<std::size_t>(options.trees);

  // Around the mean, so that large targets do not swallow small gains in rounding.
  std::vector<double> residuals = table.targets;
  for (double& residual : residuals) residual -= model.base;
  std::vector<double> weights(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) weights[i] = table.Weight(i);
  const SortedColumns columns(table);
  TreeGrower grower(columns);
  model.trees.reserve(model.members);
  for (std::uint64_t t = 0; t < model.members; ++t) {
    const auto seed = core::HashOf({options.seed, t});
    if (!options.extra) Bootstrap(table, seed, weights);
    model.trees.push_back(grower.Grow(tree_options, residuals, weights, seed, model.importance));
  }
  MakeShares(model.importance);
  return model;
}

}  // namespace sharewell::predict::learn
