#include "predict/learn/trees/boosting.h"

#include <gtest/gtest.h>

#include <numeric>

#include "predict/learn/judge/metrics.h"
#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

double ErrorOn(const TreeEnsemble& model, const Table& table) {
  std::vector<double> predicted;
  for (std::size_t i = 0; i < table.rows(); ++i) predicted.push_back(model.Predict(table.Row(i)));
  return Rmse(table.targets, predicted);
}

BoostingOptions Sampled() {
  BoostingOptions options;
  options.rounds = 50;
  options.subsample = 0.7;
  options.colsample = 0.7;
  return options;
}

TEST(Boosting, AConstantTargetIsAnsweredExactly) {
  const auto model = FitBoosted({}, Line(30, [](double) { return 0.1; }));
  EXPECT_EQ(model.Predict(std::vector{7.0}), 0.1);
  EXPECT_EQ(model.Predict(std::vector{kUnknownValue}), 0.1);
}

TEST(Boosting, OneRowIsLearntByHeart) {
  EXPECT_EQ(FitBoosted({}, Line(1, [](double) { return 3.25; })).Predict(std::vector{9.0}), 3.25);
}

TEST(Boosting, AStepIsApproachedByEtaARound) {
  const Table step = Line(20, [](double x) { return x < 10 ? 0.0 : 1.0; });
  BoostingOptions options;
  options.depth = 1;
  options.eta = 0.5;
  options.lambda = 0;
  options.rounds = 10;
  const auto model = FitBoosted(options, step);
  EXPECT_NEAR(model.Predict(std::vector{0.0}), 0.5 * std::pow(0.5, 10), 1e-12);
  options.rounds = 60;
  EXPECT_NEAR(FitBoosted(options, step).Predict(std::vector{19.0}), 1, 1e-12);
}

TEST(Boosting, LearnsMoreWithMoreRounds) {
  const Table train = Friedman(400, 10, 1);
  const Table test = Friedman(400, 10, 2);
  BoostingOptions options;
  options.rounds = 5;
  const double few = ErrorOn(FitBoosted(options, train), test);
  options.rounds = 300;
  EXPECT_LT(ErrorOn(FitBoosted(options, train), test), 0.6 * few);
}

TEST(Boosting, FindsWhichFeaturesMatter) {
  const auto model = FitBoosted({}, Friedman(500, 10, 4));
  for (std::size_t f = 5; f < 10; ++f) EXPECT_LT(model.importance[f], model.importance[4]);
  EXPECT_NEAR(std::accumulate(model.importance.begin(), model.importance.end(), 0.0), 1, 1e-12);
}

TEST(Boosting, SameSeedSameModel) {
  const Table table = Friedman(200, 8, 1);
  BoostingOptions options = Sampled();
  EXPECT_EQ(FitBoosted(options, table), FitBoosted(options, table));
  const auto first = FitBoosted(options, table);
  options.seed = 2;
  EXPECT_NE(FitBoosted(options, table), first);
}

TEST(Boosting, BagsAreBoostersOfTheirOwnAveraged) {
  const Table table = Friedman(200, 8, 1);
  const Table other = Friedman(20, 8, 2);
  BoostingOptions options = Sampled();
  options.bags = 4;
  const auto bagged = FitBoosted(options, table);
  EXPECT_EQ(bagged.members, 4u);
  EXPECT_EQ(bagged.trees.size(), 200u);
  options.bags = 1;
  const auto one = FitBoosted(options, table);
  EXPECT_TRUE(std::equal(one.trees.begin(), one.trees.end(), bagged.trees.begin()));
  EXPECT_FALSE(one.Spread(other.Row(0)));
  EXPECT_GT(bagged.Spread(other.Row(0)), 0);
}

TEST(Boosting, BagsWithoutChanceAreOne) {
  BoostingOptions options;
  options.rounds = 3;
  options.bags = 5;
  EXPECT_EQ(FitBoosted(options, Friedman(50, 5, 1)).members, 1u);
}

TEST(Boosting, UsesRowsWithMissingValues) {
  Table table = Friedman(400, 6, 7);
  for (std::size_t i = 0; i < table.values.size(); i += 7) table.values[i] = kUnknownValue;
  const Table test = Friedman(200, 6, 8);
  const double spread = Rmse(test.targets, std::vector<double>(200, FitBoosted({}, table).base));
  EXPECT_LT(ErrorOn(FitBoosted({}, table), test), 0.7 * spread);
}

}  // namespace
}  // namespace sharewell::predict::learn
