#include "interference/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "testing/random_case.h"

namespace sharewell::interference {
namespace {

using core::Demand;
using core::Ratio;

// Groups of one to three jobs, some with shares, and how fast a world with other coefficients than
// ours would run them, with some noise.
class FitTest : public ::testing::Test {
 protected:
  FitTest() {
    world.host = 0.06;
    world.neighbour = 0.04;
    world.dram = 0.9;
    world.wait = 0.8;
    world.length = 1.5;
    world.narrow = 0.9;
    world.room = 8;
  }

  std::vector<MeasuredSpeeds> Measure(int groups, double noise) {
    const Interference model({}, world);
    std::vector<MeasuredSpeeds> out;
    for (int g = 0; g < groups; ++g) {
      MeasuredSpeeds group;
      for (int n = dice.Between(1, 3); n > 0; --n) {
        Demand demand;
        demand.busy = dice.Uniform(0.2, 1);
        demand.sm = demand.busy * dice.Uniform(0.2, 1);
        demand.dram = dice.Uniform(0, 0.5);
        demand.kernel_time = core::Seconds(std::exp(dice.Uniform(2, 5)) * 1e-6);
        demands.push_back(demand);
        const Ratio share = dice.Between(0, 1) == 0 ? 1 : dice.Uniform(0.3, 1);
        group.residents.push_back({{}, &demands.back(), 1, share});
      }
      for (std::size_t i = 0; i < group.residents.size(); ++i) {
        const double speed = model.Speed(core::GpuModelId(), group.residents, i);
        group.speeds.push_back(speed * (1 + noise * dice.Uniform(-1, 1)));
      }
      out.push_back(std::move(group));
    }
    return out;
  }

  fixtures::Dice dice{9};
  std::deque<Demand> demands;
  Coefficients world;
};

TEST_F(FitTest, FindsTheCoefficientsThatMadeTheSpeeds) {
  const Coefficients found = Fit(Measure(300, 0));
  EXPECT_NEAR(found.host, world.host, 0.01);
  EXPECT_NEAR(found.neighbour, world.neighbour, 0.01);
  EXPECT_NEAR(found.dram, world.dram, 0.05);
  EXPECT_NEAR(found.wait, world.wait, 0.1);
  EXPECT_NEAR(found.length, world.length, 0.3);
  EXPECT_NEAR(found.narrow, world.narrow, 0.03);
  EXPECT_NEAR(found.room, world.room, 1);
  EXPECT_LT(found.residual, 0.02);
}

TEST_F(FitTest, NoiseAndAFewOutliersDoNotMisleadIt) {
  auto measured = Measure(300, 0.1);
  for (std::size_t g = 0; g < measured.size(); g += 20) measured[g].speeds[0] = 0.1;
  const Coefficients found = Fit(measured);
  EXPECT_NEAR(found.dram, world.dram, 0.3);
  EXPECT_NEAR(found.narrow, world.narrow, 0.15);
  EXPECT_GT(found.residual, 0.03);
}

TEST_F(FitTest, TheOrderOfTheMeasurementsDoesNotMatter) {
  auto measured = Measure(60, 0.1);
  const Coefficients once = Fit(measured);
  std::reverse(measured.begin(), measured.end());
  const Coefficients again = Fit(measured);
  EXPECT_NEAR(once.wait, again.wait, 2e-3);
  EXPECT_NEAR(once.room, again.room, 2e-2);
}

TEST_F(FitTest, WhatNothingWasMeasuredOfStaysPlausible) {
  const Coefficients none = Fit({});
  EXPECT_NEAR(none.wait, 1.5, 1e-9);
  auto measured = Measure(100, 0);
  for (MeasuredSpeeds& group : measured) {
    for (Resident& resident : group.residents) resident.sm_share = 1;
  }
  EXPECT_NEAR(Fit(measured).narrow, none.narrow, 1e-9) << "nobody had a share";
}

}  // namespace
}  // namespace sharewell::interference
