#include "core/numbers/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sharewell::core {
namespace {

TEST(Statistics, OfNothingIsUnknown) {
  EXPECT_FALSE(Mean({}));
  EXPECT_FALSE(Quantile({}, 0.5));
  EXPECT_FALSE(Jain({}));
}

TEST(Statistics, MeanIsTheSumOverTheCount) { EXPECT_DOUBLE_EQ(*Mean({1, 2, 6}), 3); }

TEST(Statistics, QuantilesInterpolateBetweenNeighbours) {
  const std::vector<double> row{4, 1, 3, 2};  // in any order
  EXPECT_DOUBLE_EQ(*Quantile(row, 0), 1);
  EXPECT_DOUBLE_EQ(*Quantile(row, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(*Quantile(row, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(*Quantile(row, 1), 4);
  EXPECT_DOUBLE_EQ(*Quantile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(*Quantile({5, 5, 5}, 0.3), 5);
}

TEST(Statistics, JainIsOneWhenEqualAndOneOverNWhenOneHasAll) {
  EXPECT_DOUBLE_EQ(*Jain({2, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(*Jain({8, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(*Jain({0, 0}), 1);
  EXPECT_DOUBLE_EQ(*Jain({1, 3}), 16.0 / 20);
}

TEST(Statistics, CorrelationIsOneOnALineAndUnknownWithoutVariation) {
  EXPECT_NEAR(*Pearson({1, 2, 3}, {10, 20, 30}), 1, 1e-12);
  EXPECT_NEAR(*Pearson({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(*Pearson({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8, 1e-12);
  EXPECT_FALSE(Pearson({1, 2}, {5, 5}));
  EXPECT_FALSE(Pearson({}, {}));
  EXPECT_FALSE(Spearman({1}, {1}));
}

TEST(Statistics, RankCorrelationSeesTheOrderAloneAndSharesTies) {
  EXPECT_NEAR(*Spearman({1, 2, 3}, {1, 10, 1e6}), 1, 1e-12);
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(*Spearman({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
}

}  // namespace
}  // namespace sharewell::core
