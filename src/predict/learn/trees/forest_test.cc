#include "predict/learn/trees/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/numbers/statistics.h"
#include "predict/learn/judge/metrics.h"
#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

ForestOptions Of(bool extra, int trees = 100) {
  ForestOptions options;
  options.extra = extra;
  options.trees = trees;
  return options;
}

class Forest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Forest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Extra" : "Bootstrapped"; });

TEST_P(Forest, AConstantTargetIsAnsweredExactly) {
  const auto model = FitForest(Of(GetParam()), Line(30, [](double) { return 0.1; }));
  EXPECT_EQ(model.Predict(std::vector{7.0}), 0.1);
}

TEST_P(Forest, SameSeedSameModel) {
  const Table table = Friedman(100, 5, 1);
  ForestOptions options = Of(GetParam(), 10);
  const auto first = FitForest(options, table);
  EXPECT_EQ(FitForest(options, table), first);
  options.seed = 2;
  EXPECT_NE(FitForest(options, table), first);
}

TEST_P(Forest, ExplainsMostOfWhatVaries) {
  const Table train = Friedman(400, 10, 1);
  const Table test = Friedman(400, 10, 2);
  const auto model = FitForest(Of(GetParam()), train);
  std::vector<double> predicted;
  for (std::size_t i = 0; i < test.rows(); ++i) predicted.push_back(model.Predict(test.Row(i)));
  const std::vector<double> mean(test.rows(), *core::Mean(test.targets));
  EXPECT_LT(std::pow(Rmse(test.targets, predicted) / Rmse(test.targets, mean), 2), 0.4);
}

TEST_P(Forest, NeverLeavesTheRangeOfTheTargets) {
  const Table table = Line(50, [](double x) { return x; });
  const auto model = FitForest(Of(GetParam()), table);
  EXPECT_GE(model.Predict(std::vector{-1000.0}), 0);
  EXPECT_LE(model.Predict(std::vector{1000.0}), 49);
}

TEST_P(Forest, TreesDifferMoreWhereRowsAreFew) {
  Table table = Named(1);
  for (int i = 0; i < 200; ++i) {
    const double x = i < 190 ? Draw(1, table.rows(), 0) : 1 + 9 * Draw(1, table.rows(), 0);
    table.Add(std::vector{x}, x);
  }
  const auto model = FitForest(Of(GetParam()), table);
  EXPECT_GT(*model.Spread(std::vector{5.0}), 5 * *model.Spread(std::vector{0.5}));
}

TEST(ExtraForest, HasSeenEveryRow) {
  const Table table = Friedman(100, 5, 1);
  const auto model = FitForest(Of(true, 20), table);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    EXPECT_NEAR(model.Predict(table.Row(i)), table.targets[i], 1e-9);
  }
}

}  // namespace
}  // namespace sharewell::predict::learn
