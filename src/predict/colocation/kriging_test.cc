#include "predict/colocation/kriging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sharewell::predict {
namespace {

constexpr double kExact = 1e-9;

double Alike(double a, double b) { return std::exp(-(a - b) * (a - b) / 2); }

std::vector<double> AlikeAll(const std::vector<double>& places, double place) {
  std::vector<double> out;
  for (const double other : places) out.push_back(Alike(other, place));
  return out;
}

core::Result<Kriging> FitAt(const std::vector<double>& places, const std::vector<double>& values,
                            double noise) {
  std::vector<double> likeness;
  for (const double a : places) {
    for (const double b : places) likeness.push_back(Alike(a, b));
  }
  return Kriging::Fit(std::move(likeness), std::vector<double>(places.size(), noise), values);
}

TEST(Kriging, WithoutNoiseItPassesThroughWhatWasMeasured) {
  const std::vector<double> places{0, 1, 3};
  const auto kriging = FitAt(places, {2, -1, 0.5}, 0);
  ASSERT_TRUE(kriging);
  EXPECT_NEAR(kriging->Mean(AlikeAll(places, 1)), -1, kExact);
  EXPECT_NEAR(kriging->Variance(AlikeAll(places, 1), 1), 0, kExact);
}

TEST(Kriging, FarFromAllItKnowsNothing) {
  const std::vector<double> places{0, 1, 3};
  const auto kriging = FitAt(places, {2, -1, 0.5}, 0.1);
  ASSERT_TRUE(kriging);
  EXPECT_NEAR(kriging->Mean(AlikeAll(places, 50)), 0, kExact);
  EXPECT_NEAR(kriging->Variance(AlikeAll(places, 50), 1), 1, kExact);
}

TEST(Kriging, NoiseShrinksOneMeasurementAsByHand) {
  const auto kriging = FitAt({0}, {3}, 0.5);
  ASSERT_TRUE(kriging);
  EXPECT_NEAR(kriging->Mean(std::vector{1.0}), 3 / 1.5, kExact);
  EXPECT_NEAR(kriging->Variance(std::vector{1.0}, 1), 1 - 1 / 1.5, kExact);
}

TEST(Kriging, OfNothingIsNothing) {
  const auto kriging = FitAt({}, {}, 1);
  ASSERT_TRUE(kriging);
  EXPECT_EQ(kriging->Mean({}), 0);
  EXPECT_EQ(kriging->Variance({}, 2), 2);
}

TEST(Kriging, WhatIsNoCovarianceIsAnError) {
  EXPECT_FALSE(Kriging::Fit({1, 2, 2, 1}, std::vector{0.0, 0.0}, std::vector{1.0, 1.0}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Kriging::Fit({nan}, std::vector{1.0}, std::vector{1.0}));
}

}  // namespace
}  // namespace sharewell::predict
