#include "engine/live/live_work.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

using core::JobId;
using core::Seconds;

// Ten steps a second alone, and two seconds of work a second.
LiveWork Working(Seconds began) {
  LiveWork work;
  work.SetPace({.steps = 10, .rate = 2});
  work.Begin(began);
  return work;
}

TEST(LiveWork, WithoutStepsItGoesAtItsPaceAlone) {
  LiveWork work = Working(Seconds(100));
  EXPECT_TRUE(work.due());
  EXPECT_EQ(work.Report(JobId(0), Seconds(100)).rate, 2);
  EXPECT_FALSE(work.fresh());
  const Progress later = work.Report(JobId(0), Seconds(105));
  EXPECT_EQ(later.attained, Seconds(10));
  EXPECT_FALSE(work.steps());
}

TEST(LiveWork, StepsTellHowFarAndHowFastItIs) {
  LiveWork work = Working(Seconds(0));
  work.Report(JobId(0), Seconds(0));
  for (int second = 10; second <= 14; ++second) {
    work.Hear(5.0 * second, Seconds(second), Seconds(second), Seconds(0), true);
  }
  EXPECT_TRUE(work.due()) << "half as fast as alone";
  const Progress told = work.Report(JobId(0), Seconds(14));
  EXPECT_EQ(told.attained, Seconds(14)) << "a step is a fifth of a second of work";
  EXPECT_EQ(told.rate, 1);
  EXPECT_EQ(told.startup, Seconds(5)) << "of ten seconds; fifty steps take five of them alone";
  EXPECT_EQ(work.steps(), (StepCount{70, Seconds(14), false, 50, Seconds(10)}));
}

TEST(LiveWork, APaceIsThereWithTheSecondLookAtItsSteps) {
  LiveWork work = Working(Seconds(0));
  work.Hear(3, Seconds(10), Seconds(10), Seconds(0), true);
  EXPECT_EQ(work.steps()->PerSecond(), std::nullopt);
  work.Hear(4, Seconds(10.25), Seconds(10.25), Seconds(0), true);
  EXPECT_EQ(work.steps()->PerSecond(), 4);
  work.Hear(2, Seconds(11), Seconds(11), Seconds(0), true);
  EXPECT_EQ(work.steps()->PerSecond(), std::nullopt) << "it counts anew";
}

TEST(LiveWork, NewNeighboursMakeWhatWasMeasuredWorthless) {
  LiveWork work = Working(Seconds(0));
  for (int second = 1; second <= 5; ++second) {
    work.Hear(5.0 * second, Seconds(second), Seconds(second), Seconds(0), true);
  }
  work.Disturb();
  EXPECT_TRUE(work.fresh());
  EXPECT_EQ(work.Report(JobId(0), Seconds(5)).rate, 2);
}

TEST(LiveWork, WhatRestsDoesNothingAndWhatNeverWasIsUndone) {
  LiveWork work = Working(Seconds(0));
  work.Report(JobId(0), Seconds(0));
  work.Rest(Seconds(10));
  EXPECT_EQ(work.attained(), Seconds(20));
  work.Rest(Seconds(50));
  EXPECT_EQ(work.attained(), Seconds(20));
  work.Undo(Seconds(3));
  EXPECT_EQ(work.attained(), Seconds(3));
}

TEST(LiveWork, ANewRunHasToldNoStepsYet) {
  LiveWork work = Working(Seconds(0));
  work.Hear(30, Seconds(5), Seconds(5), Seconds(0), true);
  work.Rest(Seconds(6));
  work.Begin(Seconds(20));
  EXPECT_FALSE(work.steps());
  // It goes on from its checkpoint, of 30 steps: none of those are of this start.
  work.Hear(30, Seconds(24), Seconds(24), Seconds(20), false);
  EXPECT_EQ(work.Report(JobId(0), Seconds(24)).startup, Seconds(2 + 4));
}

}  // namespace
}  // namespace sharewell::engine
