#include "predict/learn/trees/tree_grower.h"

#include <gtest/gtest.h>

#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

TreeOptions Plain() {
  TreeOptions options;
  options.lambda = 0;
  options.min_child_weight = 0;
  options.depth = 0;
  return options;
}

struct Grown {
  Tree tree;
  std::vector<double> importance;
};

Grown GrowOn(const Table& table, const TreeOptions& options, std::uint64_t seed = 1) {
  const SortedColumns columns(table);
  std::vector<double> weights(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) weights[i] = table.Weight(i);
  Grown out;
  out.importance.resize(table.columns());
  out.tree = TreeGrower(columns).Grow(options, table.targets, weights, seed, out.importance);
  return out;
}

double At(const Tree& tree, double x) { return tree.Predict(std::vector{x}); }

TEST(TreeGrower, LearnsAStepExactly) {
  const Table table = Line(10, [](double x) { return x < 4 ? -1.0 : 2.0; });
  const Tree tree = GrowOn(table, Plain()).tree;
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[0].value, 3.5);  // the middle between the rows on either side
  EXPECT_EQ(At(tree, 3), -1);
  EXPECT_EQ(At(tree, 4), 2);
}

TEST(TreeGrower, WithoutLimitsTellsAllRowsApart) {
  const Table table = Friedman(200, 5, 1);
  const Tree tree = GrowOn(table, Plain()).tree;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    EXPECT_NEAR(tree.Predict(table.Row(i)), table.targets[i], 1e-12);
  }
}

TEST(TreeGrower, AConstantIsOneLeaf) {
  const Table table = Line(10, [](double) { return 0.1; });
  const Tree tree = GrowOn(table, Plain()).tree;
  EXPECT_EQ(tree.nodes.size(), 1u);
  EXPECT_NEAR(At(tree, 3), 0.1, 1e-15);
}

TEST(TreeGrower, DepthCountsSplits) {
  TreeOptions options = Plain();
  options.depth = 2;
  const Tree tree = GrowOn(Line(100, [](double x) { return x * x; }), options).tree;
  EXPECT_EQ(tree.nodes.size(), 7u);
}

TEST(TreeGrower, LambdaShrinksLeavesAsXGBoostDoes) {
  TreeOptions options = Plain();
  options.lambda = 2;
  const Tree tree = GrowOn(Line(8, [](double x) { return x < 4 ? -1.0 : 1.0; }), options).tree;
  EXPECT_DOUBLE_EQ(At(tree, 0), -4.0 / (4 + 2));
  EXPECT_DOUBLE_EQ(At(tree, 7), 4.0 / (4 + 2));
}

TEST(TreeGrower, NoLeafIsLighterThanAsked) {
  TreeOptions options = Plain();
  options.min_child_weight = 3;
  const Tree tree = GrowOn(Line(10, [](double x) { return x < 1 ? 9.0 : 0.0; }), options).tree;
  EXPECT_DOUBLE_EQ(At(tree, 0), 3);  // with the next two
}

TEST(TreeGrower, WeightIsAsGoodAsRepetition) {
  Table weighted = Line(5, [](double x) { return x * x; });
  weighted.weights = {1, 3, 1, 2, 1};
  const Table repeated = weighted.Subset(std::vector<std::size_t>{0, 1, 1, 1, 2, 3, 3, 4});
  Table plain = repeated;
  plain.weights.clear();
  TreeOptions options = Plain();
  options.depth = 2;
  options.lambda = 1;
  EXPECT_EQ(GrowOn(weighted, options).tree, GrowOn(plain, options).tree);
}

TEST(TreeGrower, MissingValuesGoWhereTheyFitBetter) {
  for (const double of_missing : {0.0, 1.0}) {
    Table table = Line(10, [](double x) { return x < 5 ? 0.0 : 1.0; });
    table.Add(std::vector{kUnknownValue}, of_missing);
    table.Add(std::vector{kUnknownValue}, of_missing);
    const Tree tree = GrowOn(table, Plain()).tree;
    EXPECT_EQ(tree.nodes[0].missing_left, of_missing == 0);
    EXPECT_EQ(At(tree, kUnknownValue), of_missing);
  }
}

TEST(TreeGrower, MissingNowhereInTrainingGoesToTheHeavierSide) {
  EXPECT_FALSE(GrowOn(Line(10, [](double x) { return x < 2 ? 0.0 : 1.0; }), Plain())
                   .tree.nodes[0]
                   .missing_left);
  EXPECT_TRUE(GrowOn(Line(10, [](double x) { return x < 8 ? 0.0 : 1.0; }), Plain())
                  .tree.nodes[0]
                  .missing_left);
}

TEST(TreeGrower, CanSplitTheKnownFromTheMissing) {
  Table table = Named(1);
  for (double x : {1.0, 2.0, 3.0}) table.Add(std::vector{x}, 5);
  for (int i = 0; i < 3; ++i) table.Add(std::vector{kUnknownValue}, 7);
  const Tree tree = GrowOn(table, Plain()).tree;
  EXPECT_EQ(At(tree, 2), 5);
  EXPECT_EQ(At(tree, 1e300), 5);
  EXPECT_EQ(At(tree, kUnknownValue), 7);
}

TEST(TreeGrower, TiesGoToTheLowerFeatureAndThreshold) {
  Table table = Named(3);  // the second is the first again
  for (double x : {0.0, 1.0, 2.0, 3.0}) table.Add(std::vector{x, x, -x}, x == 1 || x == 2 ? 1 : 0);
  TreeOptions options = Plain();
  options.depth = 1;
  const Tree tree = GrowOn(table, options).tree;
  EXPECT_EQ(tree.nodes[0].feature, 0);
  EXPECT_EQ(tree.nodes[0].value, 0.5);  // as good as 2.5
}

TEST(TreeGrower, GammaPrunesFromTheLeavesUp) {
  // The first split of an exclusive or gains nothing worth keeping alone; those below it do.
  Table table = Named(2);
  for (double a : {0.0, 1.0}) {
    for (double b : {0.0, 1.0}) {
      for (int i = 0; i < 5; ++i) table.Add(std::vector{a, b}, a == b ? 1.0 : 0.0);
    }
  }
  table.Add(std::vector{0.0, 0.0}, 1);  // breaks the tie
  TreeOptions options = Plain();
  options.gamma = 0.5;
  EXPECT_EQ(GrowOn(table, options).tree.nodes.size(), 7u);
  options.gamma = 100;
  const Grown none = GrowOn(table, options);
  EXPECT_EQ(none.tree.nodes.size(), 1u);
  EXPECT_NEAR(none.tree.nodes[0].value, 11.0 / 21, 1e-12);
  EXPECT_EQ(none.importance, (std::vector<double>{0, 0}));
}

TEST(TreeGrower, ImportanceIsWhatTheFeaturesSplitsGained) {
  Table table = Named(2);
  for (int i = 0; i < 20; ++i) {
    const double x = i;
    table.Add(std::vector{Draw(5, table.rows(), 0), x}, x < 10 ? -1 : 1);
  }
  const Grown grown = GrowOn(table, Plain());
  EXPECT_EQ(grown.importance[0], 0);
  EXPECT_DOUBLE_EQ(grown.importance[1], 20);  // all of the squares
}

TEST(TreeGrower, ChildrenLieInBreadthFirstOrder) {
  TreeOptions options = Plain();
  options.min_child_weight = 3;
  options.gamma = 0.01;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Tree tree = GrowOn(Friedman(300, 8, seed), options, seed).tree;
    std::int32_t next = 1;
    for (const Tree::Node& node : tree.nodes) {
      if (node.leaf()) continue;
      EXPECT_EQ(node.child, next);
      next += 2;
    }
    EXPECT_EQ(tree.nodes.size(), static_cast<std::size_t>(next));
  }
}

TEST(TreeGrower, DrawsDependOnTheSeedAlone) {
  const Table table = Friedman(200, 10, 3);
  TreeOptions options;
  options.subsample = 0.7;
  options.colsample = 0.8;
  options.colsample_node = 0.5;
  EXPECT_EQ(GrowOn(table, options, 5).tree, GrowOn(table, options, 5).tree);
  EXPECT_NE(GrowOn(table, options, 5).tree, GrowOn(table, options, 6).tree);
}

TEST(TreeGrower, AGrowerForgetsTheTreeBefore) {
  const Table table = Friedman(200, 10, 3);
  const SortedColumns columns(table);
  const std::vector<double> weights(table.rows(), 1);
  TreeOptions sampled;
  sampled.subsample = 0.5;
  sampled.colsample = 0.5;
  std::vector<double> importance(10);
  TreeGrower used(columns);
  used.Grow(sampled, table.targets, weights, 9, importance);
  EXPECT_EQ(used.Grow({}, table.targets, weights, 1, importance), GrowOn(table, {}).tree);
}

TEST(TreeGrower, RandomThresholdsLieBetweenTheRows) {
  TreeOptions options = Plain();
  options.random_threshold = true;
  const Table table = Line(50, [](double x) { return x; });
  const Tree tree = GrowOn(table, options).tree;
  for (const Tree::Node& node : tree.nodes) {
    if (node.leaf()) continue;
    EXPECT_GT(node.value, 0);
    EXPECT_LE(node.value, 49);
  }
  for (std::size_t i = 0; i < table.rows(); ++i) {
    EXPECT_NEAR(tree.Predict(table.Row(i)), table.targets[i], 1e-12);
  }
  EXPECT_NE(tree, GrowOn(table, options, 2).tree);
}

}  // namespace
}  // namespace sharewell::predict::learn
