#include "predict/learn/trees/boosting.h"

#include <utility>
#include <vector>

#include "core/numbers/random.h"
#include "predict/learn/target_mean.h"
#include "predict/learn/trees/sorted_columns.h"
#include "predict/learn/trees/tree_grower.h"

namespace sharewell::predict::learn {

TreeEnsemble FitBoosted(const BoostingOptions& options, const Table& table) {
  SHAREWELL_CHECK(options.rounds >= 1 && options.bags >= 1);
  TreeOptions tree_options;
  tree_options.depth = options.depth;
  tree_options.lambda = options.lambda;
  tree_options.min_child_weight = options.min_child_weight;
  tree_options.gamma = options.gamma;
  tree_options.subsample = options.subsample;
  tree_options.colsample = options.colsample;
  tree_options.colsample_node = options.colsample_node;

  TreeEnsemble model;
  model.base = TargetMean(table);
  model.importance.resize(table.columns());
  if (ConstantTarget(table)) return model;
  const bool chance = options.subsample < 1 || options.colsample < 1 || options.colsample_node < 1;
  model.members = chance ? static_cast<std::size_t>(options.bags) : 1;

  std::vector<double> weights(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) weights[i] = table.Weight(i);
  const SortedColumns columns(table);
  TreeGrower grower(columns);
  std::vector<double> residuals;
  model.trees.reserve(model.members * static_cast<std::size_t>(options.rounds));
  for (std::size_t bag = 0; bag < model.members; ++bag) {
    residuals = table.targets;
    for (double& residual : residuals) residual -= model.base;
    for (int round = 0; round < options.rounds; ++round) {
      const auto seed = core::HashOf({options.seed, bag, static_cast<std::uint64_t>(round)});
      Tree tree = grower.Grow(tree_options, residuals, weights, seed, model.importance);
      tree.Scale(options.eta);
      for (std::size_t i = 0; i < table.rows(); ++i) residuals[i] -= tree.Predict(table.Row(i));
      model.trees.push_back(std::move(tree));
    }
  }
  MakeShares(model.importance);
  return model;
}

}  // namespace sharewell::predict::learn
