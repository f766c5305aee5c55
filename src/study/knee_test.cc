#include "study/knee.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::study {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Knee, IsTheFewestCoresThatKeepTheBest) {
  const auto knee = FindKnee({{1, 25}, {2, 50}, {4, 98}, {8, 100}, {16, 100}});
  ASSERT_TRUE(knee);
  EXPECT_EQ(knee->at, 4);
  EXPECT_NEAR(knee->share, 0.98, 1e-9);
}

TEST(Knee, OfAFlatCurveIsItsFirstPoint) {
  EXPECT_EQ(FindKnee({{1, 100}, {2, 99}, {4, 101}, {8, 100}})->at, 1);
}

TEST(Knee, OfAStraightLineIsItsLastPoint) {
  EXPECT_EQ(FindKnee({{1, 10}, {2, 20}, {4, 40}})->at, 4);
}

TEST(Knee, IsNotMovedByADipOnThePlateau) {
  EXPECT_EQ(FindKnee({{1, 30}, {2, 60}, {4, 100}, {8, 95}, {12, 101}, {16, 100}})->at, 4);
}

TEST(Knee, StandsBeforeARealFall) {
  const auto knee = FindKnee({{1, 15}, {2, 27}, {4, 30}, {8, 20}, {16, 15}});
  ASSERT_TRUE(knee);
  EXPECT_EQ(knee->at, 4);
  EXPECT_THAT(knee->fitted, ElementsAre(15, 27, 30, 20, 15));
}

TEST(Knee, NeedsThreePointsAndSomeThroughput) {
  EXPECT_FALSE(FindKnee({{1, 1}, {2, 2}}));
  EXPECT_FALSE(FindKnee({{1, 0}, {2, 0}, {4, 0}}));
}

TEST(Knee, KeepsWhatItIsAskedToKeep) {
  const std::vector<CurvePoint> curve = {{1, 50}, {2, 91}, {4, 100}};
  EXPECT_EQ(FindKnee(curve, 0.9)->at, 2);
  EXPECT_EQ(FindKnee(curve, 1.0)->at, 4);
}

TEST(FittedCurve, RisesToOneAndStaysThere) {
  EXPECT_THAT(FittedCurve({{1, 20}, {2, 40}, {4, 30}}),
              ElementsAre(Pair(1, 0.5), Pair(2, 1), Pair(4, 1)));
  EXPECT_THAT(
      FittedCurve({{1, 20}, {2, 18}, {4, 38}}),
      ElementsAre(Pair(1, DoubleNear(0.5, 1e-9)), Pair(2, DoubleNear(0.5, 1e-9)), Pair(4, 1)));
  EXPECT_TRUE(FittedCurve({{1, 20}}).empty());
}

}  // namespace
}  // namespace sharewell::study
