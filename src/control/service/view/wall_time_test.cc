#include "control/service/view/wall_time.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

using core::Seconds;
using core::UnixMillis;

constexpr UnixMillis kHour = 3'600'000, kDay = 24 * kHour, kYear = 365 * kDay;
constexpr UnixMillis kToday = 1'800'000'000'000;

TEST(WallTimeTest, F12_StampsFollowTheClockAsItIsSet) {
  WallTime time;
  time.Look(kToday, Seconds(100));
  EXPECT_EQ(time.At(Seconds(160)), kToday + 60'000);
  time.Look(kToday - kDay, Seconds(200));
  EXPECT_EQ(time.At(Seconds(201)), kToday - kDay + 1000);
  EXPECT_EQ(time.SteadyAt(kToday - kDay - 5000), Seconds(195));
  EXPECT_EQ(time.SteadyAt(kToday), Seconds(200));  // not after now
}

TEST(WallTimeTest, F12_NothingIsOldInTheFirstHourOrAfterAJump) {
  WallTime time;
  time.BeginAfter(kToday - kDay);
  time.Look(kToday, Seconds(0));
  EXPECT_EQ(time.OldBefore(kYear), std::nullopt);
  time.Look(kToday + 2 * kHour, Seconds(7200));
  EXPECT_EQ(time.OldBefore(kYear), kToday + 2 * kHour - kYear);
  time.Look(kToday + 10 * kYear, Seconds(7201));  // set ahead
  EXPECT_EQ(time.OldBefore(kYear), std::nullopt);
  time.Look(kToday + 2 * kHour, Seconds(7202));  // and right again
  EXPECT_EQ(time.OldBefore(kYear), std::nullopt);
  time.Look(kToday + 4 * kHour, Seconds(14'400));
  EXPECT_EQ(time.OldBefore(kYear), kToday + 4 * kHour - kYear);
}

TEST(WallTimeTest, F12_AClockThatIsAheadOfAllThatWasStoredIsBelievedAMonth) {
  WallTime time;
  time.BeginAfter(kToday);
  time.Look(kToday + 10 * kYear, Seconds(0));
  time.Look(kToday + 10 * kYear + 2 * kHour, Seconds(7200));
  EXPECT_EQ(time.OldBefore(kYear), kToday + 30 * kDay + 2 * kHour - kYear);
}

}  // namespace
}  // namespace sharewell::control
