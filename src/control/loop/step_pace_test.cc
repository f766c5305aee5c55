#include "control/loop/step_pace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sharewell::control {
namespace {

using core::Seconds;

TEST(StepPace, IsThatOfTwoWindowsThatShareNothing) {
  StepPace pace;
  double steps = 0;
  for (int t = 0; t <= 6; ++t) pace.Observe(Seconds(t), steps += 10);
  EXPECT_NEAR(*pace.newest(), 10, 1e-9);
  EXPECT_FALSE(pace.before());
  for (int t = 7; t <= 12; ++t) pace.Observe(Seconds(t), steps += 4);
  EXPECT_NEAR(*pace.newest(), 4, 1e-9);
  EXPECT_NEAR(*pace.before(), 10, 1e-9);
  pace.Clear();
  EXPECT_FALSE(pace.newest());
}

TEST(StepPace, LeavesPausesOut) {
  StepPace pace;
  double steps = 0, t = 0;
  for (int i = 0; i < 40; ++i) {
    t += i % 5 == 4 ? 31 : 1;  // a checkpoint after every five tellings
    pace.Observe(Seconds(t), steps += 10);
    if (!pace.newest()) continue;
    EXPECT_NEAR(*pace.newest(), 10, 1e-9) << i;
  }
  EXPECT_TRUE(pace.before());
}

TEST(StepPace, LeavesBurstsOut) {
  StepPace pace;
  double steps = 0;
  for (int t = 0; t < 30; ++t) pace.Observe(Seconds(t), steps += t == 25 ? 90 : 10);
  EXPECT_NEAR(*pace.newest(), 10, 1e-9);
}

// A step takes 1.2 s and is heard of at whole seconds: gaps of 1, 1, 1, 1 and 2 s.
TEST(StepPace, TakesTheMeanOfCoarseTimes) {
  StepPace pace;
  for (int t = 0; t < 60; ++t) pace.Observe(Seconds(t), std::floor(t / 1.2));
  EXPECT_NEAR(*pace.newest(), 1 / 1.2, 0.09);
  EXPECT_NEAR(*pace.before(), 1 / 1.2, 0.09);
}

TEST(StepPace, WaitsForWhoTellsRarely) {
  StepPace pace;
  for (int minute = 0; minute < 5; ++minute) {
    pace.Observe(Seconds(60 * minute), 600 * minute);
    EXPECT_FALSE(pace.newest());
  }
  pace.Observe(Seconds(300), 3000);
  EXPECT_NEAR(*pace.newest(), 10, 1e-9);
  pace.Observe(Seconds(300), 3600);  // heard of at once
  EXPECT_NEAR(*pace.newest(), 10, 1e-9);
}

}  // namespace
}  // namespace sharewell::control
