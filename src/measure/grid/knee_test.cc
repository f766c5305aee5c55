#include "measure/grid/knee.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::measure {
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

// ResNet-50 of data/h200/cores.csv: 3.6 % less on 16 cores than on 8, each ± 3 to 4 %.
std::vector<CurvePoint> WithinTheNoise() {
  return {{1, 10.3929, 0.123},
          {2, 19.4255, 0.137},
          {4, 29.9659, 0.037},
          {8, 30.8947, 0.03},
          {16, 29.7765, 0.036}};
}

TEST(Knee, AFallWithinTheCellsUncertaintyIsNone) {
  auto curve = WithinTheNoise();
  const auto knee = FindKnee(curve);
  ASSERT_TRUE(knee);
  EXPECT_EQ(knee->at, 4);
  const double plateau = (30.8947 + 29.7765) / 2;
  EXPECT_NEAR(knee->share, 29.9659 / plateau, 1e-9);
  EXPECT_NEAR(knee->fitted.back(), plateau, 1e-9);

  for (CurvePoint& point : curve) point.uncertainty = 0.01;
  EXPECT_EQ(FindKnee(curve)->at, 8) << "known that well, it is a fall";
  curve = WithinTheNoise();
  curve.back().uncertainty.reset();
  EXPECT_EQ(FindKnee(curve)->at, 8) << "of one cell it is not known";
}

TEST(Knee, BothCellsUncertaintyCounts) {
  // 10 % lower, each ± 6 %, of both 8.1 %: a fall. Each ± 8 %, of both 10.8 %: none.
  EXPECT_EQ(FindKnee({{1, 50, 0.06}, {2, 95, 0.06}, {4, 100, 0.06}, {8, 90, 0.06}})->at, 4);
  EXPECT_EQ(FindKnee({{1, 50, 0.08}, {2, 95, 0.08}, {4, 100, 0.08}, {8, 90, 0.08}})->at, 2);
}

TEST(Knee, AFallThatAnyCellProvesIsOne) {
  // The end says little, the point before it enough.
  const auto knee =
      FindKnee({{1, 50, 0.01}, {2, 95, 0.01}, {4, 100, 0.01}, {8, 80, 0.01}, {16, 79, 0.5}});
  EXPECT_EQ(knee->at, 4);
  EXPECT_NEAR(knee->fitted[3], 80, 1e-9);
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

TEST(FittedCurve, TakesNoNoiseForAPeak) {
  const auto curve = FittedCurve(WithinTheNoise());
  ASSERT_EQ(curve.size(), 5U);
  EXPECT_NEAR(curve[2].second, 2 * 29.9659 / (30.8947 + 29.7765), 1e-9);
  EXPECT_EQ(curve[3].second, 1);
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
}  // namespace sharewell::measure
