#include "control/service/jobs/time_given.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

using core::Seconds;

TimeBeside Second(std::optional<double> slowdown = {}) {
  TimeBeside beside;
  beside.passed = Seconds(1);
  beside.others = true;
  beside.slowdown = slowdown;
  beside.most = 1.375;
  return beside;
}

// The extension after so long.
Seconds After(int seconds, const TimeBeside& each, Seconds limit = Seconds(1000)) {
  Seconds extended;
  for (int i = 0; i < seconds; ++i) extended = Extended(limit, extended, each);
  return extended;
}

TEST(TimeGiven, IsWhatTheJobLost) {
  // It needs 1000 s alone, and 1300 s beside the other.
  EXPECT_NEAR(After(1300, Second(1.3)).value, 300, 1e-6);
  EXPECT_EQ(After(1300, Second(0.97)), Seconds(0)) << "nothing";
}

TEST(TimeGiven, IsNothingForAJobThatIsAlone) {
  TimeBeside alone = Second(1.3);
  alone.others = false;
  EXPECT_EQ(After(500, alone), Seconds(0)) << "who is slow by itself";
  alone.slowdown.reset();
  EXPECT_EQ(After(500, alone), Seconds(0));
}

TEST(TimeGiven, WhatWasNotMeasuredIsTakenToBeWhatItBears) {
  EXPECT_NEAR(After(100, Second()).value, 100 * (1 - 1 / 1.375), 1e-6);
}

TEST(TimeGiven, NobodyGetsMoreByClaimingToBeSlow) {
  EXPECT_NEAR(After(5000, Second(100)).value, 375, 1e-6);
  TimeBeside bears_much = Second(100);
  bears_much.most = 50;
  EXPECT_NEAR(After(9000, bears_much).value, 1000, 1e-6) << "twice the limit in all";
}

TEST(TimeGiven, FewerSmsCountAsFarAsTheJobDidNotAskForThem) {
  TimeBeside fewer = Second();
  fewer.others = false;
  fewer.limited = true;
  fewer.share_speed = 0.8;
  EXPECT_NEAR(After(100, fewer).value, 20, 1e-6) << "by the model";
  fewer.slowdown = 2;
  EXPECT_NEAR(After(100, fewer).value, 50, 1e-6) << "measured";
  fewer.own_share = true;
  EXPECT_EQ(After(100, fewer), Seconds(0));
  fewer.others = true;
  EXPECT_NEAR(After(100, fewer).value, 100 * (1 - 1 / 1.6), 1e-6) << "what others did";
}

}  // namespace
}  // namespace sharewell::control
