#include "simulation/spread.h"

#include <gtest/gtest.h>

namespace sharewell::simulation {
namespace {

TEST(Spread, IsOfTheSample) {
  const auto spread = SpreadOf({1.0, 2.0, 3.0});
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->mean, 2);
  EXPECT_DOUBLE_EQ(spread->deviation, 1);
  EXPECT_EQ(spread->values, (std::vector<double>{1, 2, 3}));
}

TEST(Spread, OneSeedHasNone) {
  const auto spread = SpreadOf({7.0});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->mean, 7);
  EXPECT_EQ(spread->deviation, 0);
}

TEST(Spread, IsUnknownWhereASeedDoesNotHaveTheFigure) {
  EXPECT_FALSE(SpreadOf({1.0, {}}));
  EXPECT_FALSE(SpreadOf({}));
}

}  // namespace
}  // namespace sharewell::simulation
