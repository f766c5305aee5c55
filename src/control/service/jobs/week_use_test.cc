#include "control/service/jobs/week_use.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

constexpr core::UnixMillis kOneHour = 3600 * 1000, kWeekNow = 1'700'000'000'000;

TEST(WeekUse, CountsGpusTimesHoursOfTheLastSevenDays) {
  WeekUse use;
  EXPECT_EQ(use.GpuHours("ann", kWeekNow), 0);
  use.Add("ann", kWeekNow - 10 * kOneHour, kWeekNow, 4);
  use.Add("ann", kWeekNow, kWeekNow + kOneHour, 0);
  use.Add("bob", kWeekNow - kOneHour, kWeekNow, 1);
  EXPECT_NEAR(use.GpuHours("ann", kWeekNow), 40, 1e-9);
  EXPECT_NEAR(use.GpuHours("ann", kWeekNow + 6 * 24 * kOneHour), 40, 1e-9);
  EXPECT_EQ(use.GpuHours("ann", kWeekNow + kWeek + 6 * kOneHour), 0) << "a week later it is over";
  EXPECT_NEAR(use.GpuHours("bob", kWeekNow), 1, 1e-9);
}

TEST(WeekUse, OfALongRunTheLastWeekCounts) {
  WeekUse use;
  use.Add("ann", kWeekNow - 10 * kWeek, kWeekNow, 2);
  EXPECT_NEAR(use.GpuHours("ann", kWeekNow), 2 * 7 * 24, 12.1);
  EXPECT_LT(use.GpuHours("ann", kWeekNow + kWeek / 2), 7 * 24 + 12.1);
}

TEST(WeekUse, IsReadAsItWasWritten) {
  WeekUse use, again;
  use.Add("ann", kWeekNow - 31 * kOneHour, kWeekNow, 3);
  ASSERT_TRUE(again.Restore("ann", use.TextOf("ann")));
  EXPECT_EQ(again.TextOf("ann"), use.TextOf("ann"));
  EXPECT_NEAR(again.GpuHours("ann", kWeekNow), 93, 1e-9);
  EXPECT_EQ(use.TextOf("bob"), "");
  EXPECT_TRUE(again.Restore("bob", ""));
  std::string many;
  for (int i = 0; i < 40; ++i) many += std::to_string(i) + ":1 ";
  for (const std::string& text :
       {std::string("x"), std::string("1"), std::string("1:"), std::string("1:x"),
        std::string("1:-1"), std::string("1:nan"), std::string("1:inf"), std::string("1:1,2:1"),
        std::string("-1:1"), std::string("99999999999999999999:1"), many}) {
    EXPECT_FALSE(again.Restore("bob", text)) << text;
  }
  EXPECT_EQ(again.GpuHours("bob", kWeekNow), 0);
}

}  // namespace
}  // namespace sharewell::control
