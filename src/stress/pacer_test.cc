#include "stress/pacer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace sharewell::stress {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

// Pieces that a worker does between two times, if each takes `cost` and nothing holds it up.
double DoneBetween(Pacer& pacer, double& now, double end, double cost) {
  double done = 0;
  while (now < end) {
    now = std::max(now, pacer.Reserve(now)) + cost;
    done += pacer.piece();
  }
  return done;
}

TEST(Pacer, ThePiecesOfASecondAddUpToTheRate) {
  Pacer pacer;
  double now = 100;
  pacer.SetRate(1000, 5, now);
  EXPECT_NEAR(DoneBetween(pacer, now, 101, 0.001), 1000, 10);
  EXPECT_NEAR(DoneBetween(pacer, now, 102, 0.004), 1000, 10);
}

TEST(Pacer, AShortHoldUpIsCaughtUpWith) {
  Pacer pacer;
  double now = 0;
  pacer.SetRate(1000, 5, now);
  double done = DoneBetween(pacer, now, 0.5, 0.001);
  now += 0.2;  // another program had the CPU
  done += DoneBetween(pacer, now, 1, 0.001);
  EXPECT_NEAR(done, 1000, 10);
}

TEST(Pacer, ALongOneIsGivenUp) {
  Pacer pacer;
  double now = 0;
  pacer.SetRate(1000, 5, now);
  DoneBetween(pacer, now, 1, 0.001);
  now = 3601;  // suspended for an hour
  const double done = DoneBetween(pacer, now, 3602, 0.001);
  EXPECT_NEAR(done, 1000 * (1 + Pacer::kForgive), 15);
}

TEST(Pacer, WhatCannotBeReachedIsALag) {
  Pacer pacer;
  double now = 0;
  pacer.SetRate(1000, 5, now);
  EXPECT_EQ(pacer.Lag(now), 0);
  EXPECT_NEAR(DoneBetween(pacer, now, 1, 0.01), 500, 10);
  EXPECT_GT(pacer.Lag(now), 0.2);
}

TEST(Pacer, AnotherRateStartsAfresh) {
  Pacer pacer;
  double now = 0;
  pacer.SetRate(1000, 5, now);
  DoneBetween(pacer, now, 1, 0.02);  // far behind
  pacer.SetRate(100, 1, now);
  EXPECT_EQ(pacer.Lag(now), 0);
  EXPECT_NEAR(DoneBetween(pacer, now, now + 1, 0.001), 100, 3);
}

TEST(Pacer, FlatOutIsAlwaysDueAndRestNever) {
  Pacer pacer;
  EXPECT_TRUE(std::isinf(pacer.Reserve(5)));
  pacer.SetRate(std::numeric_limits<double>::infinity(), 1, 5);
  EXPECT_EQ(pacer.Reserve(7), 7);
  EXPECT_EQ(pacer.Reserve(7), 7);
  EXPECT_EQ(pacer.Lag(9), 0);
}

TEST(SecondSeries, APieceIsSplitWhereItsSecondEnds) {
  SecondSeries series;
  series.Restart(10);
  series.Add(10.2, 10.4, 2);
  series.Add(10.9, 11.3, 4);
  EXPECT_THAT(series.Take(11), IsEmpty());  // a piece may still be under way
  EXPECT_THAT(series.Take(12.2), ElementsAre(DoubleNear(3, 1e-9), DoubleNear(3, 1e-9)));
  EXPECT_THAT(series.Take(12.2), IsEmpty());
}

TEST(SecondSeries, WhatWasDoneBeforeTheStartIsLeftOut) {
  SecondSeries series;
  series.Restart(10);
  series.Add(9, 9.5, 7);
  series.Add(9.5, 10.5, 4);
  EXPECT_THAT(series.Take(11.2), ElementsAre(DoubleNear(2, 1e-9)));
}

TEST(SecondSeries, ALatePieceIsNotLost) {
  SecondSeries series;
  series.Restart(0);
  EXPECT_THAT(series.Take(2.5), ElementsAre(0, 0));
  series.Add(0.5, 2.5, 8);  // held up for two seconds
  series.Add(4.5, 4.5, 1);  // took no time at all
  const auto rest = series.Take(5.5);
  EXPECT_THAT(rest, ElementsAre(DoubleNear(8, 1e-9), 0, DoubleNear(1, 1e-9)));
}

TEST(SecondSeries, LongPiecesKeepTheirSum) {
  SecondSeries series;
  series.Restart(0);
  series.Add(0.25, 3.75, 35);
  const auto seconds = series.Take(5);
  EXPECT_THAT(seconds, ElementsAre(DoubleNear(7.5, 1e-9), DoubleNear(10, 1e-9),
                                   DoubleNear(10, 1e-9), DoubleNear(7.5, 1e-9)));
}

}  // namespace
}  // namespace sharewell::stress
