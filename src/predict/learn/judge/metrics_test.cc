#include "predict/learn/judge/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sharewell::predict::learn {
namespace {

const std::vector<double> kActual{1, 2, 4};
const std::vector<double> kPredicted{2, 2, 1};

TEST(Metrics, AreTheirDefinitions) {
  EXPECT_DOUBLE_EQ(Rmse(kActual, kPredicted), std::sqrt(10.0 / 3));
  EXPECT_DOUBLE_EQ(MeanAbsoluteError(kActual, kPredicted), 4.0 / 3);
  EXPECT_DOUBLE_EQ(MeanAbsolutePercentageError(kActual, kPredicted), (1 + 0 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(MedianAbsolutePercentageError(kActual, kPredicted), 0.75);
  const double a = std::log(3.0 / 2);
  const double c = std::log(2.0 / 5);
  EXPECT_DOUBLE_EQ(Rmsle(kActual, kPredicted), std::sqrt((a * a + c * c) / 3));
}

TEST(Metrics, ExactPredictionsHaveNoError) {
  EXPECT_EQ(Rmse(kActual, kActual), 0);
  EXPECT_EQ(Rmsle(kActual, kActual), 0);
}

TEST(Metrics, CoverageCountsBoundsAsInside) {
  EXPECT_DOUBLE_EQ(Coverage(kActual, kPredicted), 2.0 / 3);
  EXPECT_DOUBLE_EQ(
      IntervalCoverage(kActual, std::vector<double>{1, 3, 0}, std::vector<double>{1, 4, 5}),
      2.0 / 3);
}

TEST(Metrics, OverReservationIsWhatIsSetAsideForNothing) {
  EXPECT_DOUBLE_EQ(MeanOverReservation(kActual, std::vector<double>{2, 3, 4}), (1 + 0.5 + 0) / 3);
}

}  // namespace
}  // namespace sharewell::predict::learn
