#include "core/job/speed_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sharewell::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Counted = SpeedHistory::Counted;

constexpr UnixMillis kBegin = 1'700'000'000'000;

Counted At(double seconds, double steps) {
  return {kBegin + static_cast<UnixMillis>(seconds * 1e3), steps};
}

// Looked at every second, `rate` steps in each.
void StepOn(SpeedHistory& history, int from, int to, double rate, double done = 0) {
  for (int t = from; t <= to; ++t) {
    history.Count(At(from, done), At(t, done + rate * (t - from)), kBegin);
  }
}

double StepsOf(const SpeedHistory& history) {
  double steps = 0;
  for (const SpeedPoint& point : history.points()) steps += point.steps;
  return steps;
}

TEST(SpeedHistoryTest, TwoCountsAreASpeed) {
  SpeedHistory history;
  history.Count(At(10, 5), At(10, 5), kBegin);
  EXPECT_FALSE(history.PerSecond());
  EXPECT_THAT(history.points(), IsEmpty());
  history.Count(At(10, 5), At(12, 25), kBegin);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 10);
  EXPECT_THAT(history.points(),
              ElementsAre(SpeedPoint{kBegin + 10'000, kBegin + 12'000, 20, 2000}));
}

TEST(SpeedHistoryTest, WhatWasToldWhileNobodyLookedCounts) {
  SpeedHistory history;
  history.Count(At(10, 1), At(10.5, 6), kBegin);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 10) << "its first step was heard before";
}

TEST(SpeedHistoryTest, ALongLifeIsThinnedAndAddsUp) {
  SpeedHistory history;
  constexpr int kLife = 100'000;  // a day and some
  StepOn(history, 0, kLife, 3);
  EXPECT_LE(history.points().size(), SpeedHistory::kMostPoints);
  EXPECT_GE(history.points().size(), SpeedHistory::kMostPoints / 3);
  EXPECT_DOUBLE_EQ(StepsOf(history), 3.0 * kLife);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 3);
  for (const SpeedPoint& point : history.points()) EXPECT_DOUBLE_EQ(point.PerSecond(), 3);
}

TEST(SpeedHistoryTest, AChangeStaysWhereItWas) {
  SpeedHistory history;
  StepOn(history, 0, 5000, 10);
  StepOn(history, 5000, 10'000, 4, 50'000);
  for (const SpeedPoint& point : history.points()) {
    const bool early = point.to <= kBegin + 5'000'000, late = point.from >= kBegin + 5'000'000;
    if (early || late) {
      EXPECT_DOUBLE_EQ(point.PerSecond(), early ? 10 : 4);
    }
  }
  EXPECT_NEAR(history.PerSecond().value(), 7, 1e-9);
}

TEST(SpeedHistoryTest, SlowStepsAreAPointEach) {
  SpeedHistory history;
  for (int i = 0; i <= 1000; ++i) history.Count(At(0, 0), At(90.0 * i, i), kBegin);
  EXPECT_LE(history.points().size(), SpeedHistory::kMostPoints);
  EXPECT_DOUBLE_EQ(StepsOf(history), 1000);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 1 / 90.0);
}

TEST(SpeedHistoryTest, WhatLiesBetweenTwoRunsIsNobodysTime) {
  SpeedHistory history;
  StepOn(history, 0, 10, 5);
  const UnixMillis since = kBegin + 500'000;
  history.Count(At(510, 3), At(510, 3), since);
  history.Count(At(510, 3), At(520, 53), since);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 5);
  EXPECT_EQ(history.points().back().from, kBegin + 510'000);
}

TEST(SpeedHistoryTest, APauseIsNobodysTime) {
  SpeedHistory history;
  StepOn(history, 0, 1000, 5);
  history.Count(At(0, 0), At(5000, 5001), At(4990, 0).at);
  history.Count(At(0, 0), At(5010, 5051), At(4990, 0).at);
  EXPECT_DOUBLE_EQ(StepsOf(history), 5050);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 5);
}

TEST(SpeedHistoryTest, CountsThatGoBackAndClocksThatAreSetBackBeginAnew) {
  SpeedHistory history;
  StepOn(history, 0, 10, 5);
  history.Count(At(12, 2), At(12, 2), kBegin);
  history.Count(At(12, 2), At(14, 12), kBegin);
  EXPECT_DOUBLE_EQ(history.PerSecond().value(), 5);
  history.Count(At(12, 2), At(3, 13), kBegin);
  history.Count(At(12, 2), At(15, 20), kBegin);
  UnixMillis before = 0;
  for (const SpeedPoint& point : history.points()) {
    EXPECT_GE(point.from, before);
    EXPECT_GT(point.to, point.from);
    before = point.to;
  }
}

TEST(SpeedHistoryTest, NeighboursAreKeptByStretch) {
  SpeedHistory history;
  history.Look(kBegin, {});
  history.Look(kBegin + 1000, {});
  history.Look(kBegin + 2000, {9, 7});
  history.Look(kBegin + 3000, {7, 9});
  history.Look(kBegin + 60'000, {7, 9});
  EXPECT_THAT(history.beside(),
              ElementsAre(BesideStretch{kBegin, kBegin + 2000, {}},
                          BesideStretch{kBegin + 2000, kBegin + 3000, {7, 9}},
                          BesideStretch{kBegin + 60'000, kBegin + 60'000, {7, 9}}));
}

TEST(SpeedHistoryTest, ManyNeighboursAreBounded) {
  SpeedHistory history;
  for (int i = 0; i < 5000; ++i) history.Look(kBegin + i * 5000, {i});
  ASSERT_THAT(history.beside(), SizeIs(SpeedHistory::kMostStretches));
  EXPECT_EQ(history.beside().front().from, kBegin);
  EXPECT_THAT(history.beside().back().jobs, ElementsAre(4999)) << "the one under way is as it is";
  for (const BesideStretch& one : history.beside()) {
    EXPECT_LE(one.jobs.size(), SpeedHistory::kMostBeside);
  }
}

TEST(SpeedHistoryTest, ComesBackAsItWasAndGoesOn) {
  SpeedHistory history;
  StepOn(history, 0, 3000, 2);
  history.Look(kBegin, {4});
  auto again = SpeedHistory::From(history.points(), history.beside(), history.last());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points(), history.points());
  EXPECT_EQ(again->beside(), history.beside());
  // The server was away for an hour: what was done meanwhile is not lost.
  again->Count(At(6600, 13'200), At(6600, 13'200), kBegin);
  EXPECT_DOUBLE_EQ(StepsOf(*again), 13'200);
  EXPECT_DOUBLE_EQ(again->PerSecond().value(), 2);
  for (int t = 6601; t < 20'000; ++t) again->Count(At(6600, 13'200), At(t, t * 2.0), kBegin);
  EXPECT_LE(again->points().size(), SpeedHistory::kMostPoints);
  EXPECT_NEAR(again->PerSecond().value(), 2, 1e-9);
}

TEST(SpeedHistoryTest, WhatIsNoHistoryIsNotTaken) {
  const SpeedPoint good{10, 20, 1, 10};
  EXPECT_TRUE(SpeedHistory::From({good, {20, 30, 1, 5}}, {{1, 2, {3}}}, Counted{30, 2}));
  const auto refused = [](SpeedPoint point) { return !SpeedHistory::From({point}, {}, {}); };
  EXPECT_TRUE(refused({20, 10, 1, 10}));
  EXPECT_TRUE(refused({10, 20, 1, 0}));
  EXPECT_TRUE(refused({10, 20, 1, 11}));
  EXPECT_TRUE(refused({-1, 20, 1, 5}));
  EXPECT_TRUE(refused({10, 20, -1, 5}));
  EXPECT_TRUE(refused({10, 20, std::numeric_limits<double>::quiet_NaN(), 5}));
  EXPECT_TRUE(refused({10, std::numeric_limits<UnixMillis>::max(), 1, 5}));
  EXPECT_FALSE(SpeedHistory::From({good, good}, {}, {})) << "they overlap";
  EXPECT_FALSE(SpeedHistory::From({}, {{5, 4, {}}}, {}));
  EXPECT_FALSE(SpeedHistory::From({}, {}, Counted{-1, 0}));
  std::vector<SpeedPoint> many(SpeedHistory::kMostPoints + 1);
  for (std::size_t i = 0; i < many.size(); ++i) {
    const auto at = static_cast<UnixMillis>(i);
    many[i] = {at, at + 1, 1, 1};
  }
  EXPECT_FALSE(SpeedHistory::From(many, {}, {}));
}

}  // namespace
}  // namespace sharewell::core
