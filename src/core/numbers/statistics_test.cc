#include "core/numbers/statistics.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sharewell::core
