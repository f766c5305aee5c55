#include "predict/learn/judge/grid_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "predict/learn/judge/metrics.h"
#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

// A line with noise, which ridge regression knows best and deep trees learn by heart.
Table NoisyLine() {
  Table table = Named(2);
  for (std::size_t i = 0; i < 80; ++i) {
    const std::vector<double> x{Draw(1, i, 0), Draw(1, i, 1)};
    table.Add(x, x[0] + 0.1 * core::Normal(core::HashOf({2, i})), i % 2 == 0 ? "even" : "odd");
  }
  return table;
}

const std::vector<LearnerSpec>& Specs() {
  static const std::vector<LearnerSpec> specs{
      {LinearOptions{1e6}}, {LinearOptions{1}}, {LinearOptions{1}}, {ForestOptions{}}};
  return specs;
}

TEST(GridSearch, ChoosesWhatPredictsRowsItHasNotSeen) {
  const Table table = NoisyLine();
  const auto choice = GridSearch(Specs(), table, RandomFolds(80, 5, 1));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->best, 1u);  // ties: the first
  EXPECT_EQ(choice->errors[1], choice->errors[2]);
  EXPECT_NEAR(choice->errors[1], 0.1, 0.02);
  EXPECT_DOUBLE_EQ(choice->errors[1], Rmse(table.targets, choice->held_out.predictions));
}

TEST(GridSearch, IsDeterministic) {
  const auto folds = RandomFolds(80, 3, 1);
  const auto a = GridSearch(Specs(), NoisyLine(), folds);
  const auto b = GridSearch(Specs(), NoisyLine(), folds);
  EXPECT_EQ(a->errors, b->errors);
  EXPECT_EQ(a->held_out.predictions, b->held_out.predictions);
}

TEST(GridSearch, APredictionKnowsNothingOfItsRow) {
  // The target of a row may not move what is said of it.
  Table table = NoisyLine();
  const auto folds = RandomFolds(80, 4, 1);
  const double before = PredictHeldOut(Specs()[3], table, folds)->predictions[7];
  table.targets[7] = 1e6;
  EXPECT_EQ(PredictHeldOut(Specs()[3], table, folds)->predictions[7], before);
}

TEST(GridSearch, RowsNeverHeldOutHaveNoPrediction) {
  const Table table = NoisyLine();
  const auto folds = LeaveOneGroupOut(table.groups);
  const auto held_out = PredictHeldOut(Specs()[3], table, std::span(folds).first(1));
  ASSERT_TRUE(held_out);
  EXPECT_FALSE(std::isnan(held_out->predictions[0]));
  EXPECT_FALSE(std::isnan(held_out->spreads[0]));
  EXPECT_TRUE(std::isnan(held_out->predictions[1]));
}

TEST(GridSearch, PassesOnWhatIsWrong) {
  EXPECT_FALSE(GridSearch({}, NoisyLine(), RandomFolds(80, 2, 1)));
  const std::vector<LearnerSpec> wrong{{LinearOptions{-1}}};
  EXPECT_FALSE(GridSearch(wrong, NoisyLine(), RandomFolds(80, 2, 1)));
}

}  // namespace
}  // namespace sharewell::predict::learn
