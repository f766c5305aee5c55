#include "predict/colocation/colocation_by_name.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sharewell::predict {
namespace {

NamedJob Job(const std::string& model, int batch) { return {model, batch, 100.0 / batch}; }

TEST(ColocationByName, PairsThatWereMeasuredComeBackNearly) {
  const auto together = ColocationByName::Fit({{Job("a", 8), Job("b", 8), 0.9},
                                               {Job("b", 8), Job("a", 8), 0.4},
                                               {Job("a", 8), Job("a", 8), 0.6}});
  ASSERT_TRUE(together) << together.error().message;
  EXPECT_NEAR(together->Speed(Job("a", 8), Job("b", 8)), 0.9, 0.05);
  EXPECT_NEAR(together->Speed(Job("b", 8), Job("a", 8)), 0.4, 0.05);
}

TEST(ColocationByName, ABatchInBetweenLiesInBetween) {
  const auto together =
      ColocationByName::Fit({{Job("a", 8), Job("b", 8), 0.9}, {Job("a", 128), Job("b", 8), 0.5}});
  ASSERT_TRUE(together);
  const double between = together->Speed(Job("a", 32), Job("b", 8));
  EXPECT_LT(between, together->Speed(Job("a", 8), Job("b", 8)));
  EXPECT_GT(between, together->Speed(Job("a", 128), Job("b", 8)));
}

TEST(ColocationByName, SpeedsStaySpeeds) {
  const auto together = ColocationByName::Fit({{Job("a", 8), Job("b", 8), 1.4}});
  ASSERT_TRUE(together);
  EXPECT_EQ(together->Speed(Job("a", 8), Job("b", 8)), 1);
}

TEST(ColocationByName, WhatIsNoMeasurementIsAnError) {
  EXPECT_FALSE(ColocationByName::Fit({}));
  EXPECT_FALSE(ColocationByName::Fit({{Job("a", 8), Job("b", 8), 0}}));
  EXPECT_FALSE(ColocationByName::Fit({{Job("a", 8), {"b", 0, 1}, 0.5}}));
  EXPECT_FALSE(ColocationByName::Fit({{{"a", 1, std::nan("")}, Job("b", 8), 0.5}}));
}

}  // namespace
}  // namespace sharewell::predict
