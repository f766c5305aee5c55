#include "report/text/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace sharewell::report {
namespace {

using core::Seconds;

TEST(Duration, HasTwoUnitsAtMost) {
  EXPECT_EQ(Duration(Seconds(0)), "0 s");
  EXPECT_EQ(Duration(Seconds(2e-6)), "2 µs");
  EXPECT_EQ(Duration(Seconds(0.012)), "12 ms");
  EXPECT_EQ(Duration(Seconds(4.24)), "4.2 s");
  EXPECT_EQ(Duration(Seconds(725)), "12m 05s");
  EXPECT_EQ(Duration(Seconds(11220)), "3h 07m");
  EXPECT_EQ(Duration(Seconds(187200)), "2d 04h");
  EXPECT_EQ(Duration(Seconds(-90)), "-1m 30s");
}

// Rounding must not show "60.0 s", "59m 60s" or "24h 00m".
TEST(Duration, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(Duration(Seconds(0.9999)), "1.0 s");
  EXPECT_EQ(Duration(Seconds(59.97)), "1m 00s");
  EXPECT_EQ(Duration(Seconds(3599.7)), "1h 00m");
  EXPECT_EQ(Duration(Seconds(86399)), "1d 00h");
}

TEST(Duration, NoNumberIsUnknown) {
  EXPECT_EQ(Duration(Seconds(std::numeric_limits<double>::infinity())), "-");
  EXPECT_EQ(Duration(Seconds(std::numeric_limits<double>::quiet_NaN())), "-");
  EXPECT_EQ(Duration(Seconds(1e300)), "-");
}

TEST(Duration, AboutIsOneUnitUpToAnHour) {
  EXPECT_EQ(About(Seconds(12.3)), "12 s");
  EXPECT_EQ(About(Seconds(59.7)), "1 min");
  EXPECT_EQ(About(Seconds(3480)), "58 min");
  EXPECT_EQ(About(Seconds(3580)), "1h 00m");
  EXPECT_EQ(About(Seconds(11220)), "3h 07m");
  EXPECT_EQ(About(Seconds(std::numeric_limits<double>::quiet_NaN())), "-");
}

TEST(Number, GroupsThousands) {
  EXPECT_EQ(Number(0, 0), "0");
  EXPECT_EQ(Number(999, 0), "999");
  EXPECT_EQ(Number(1234567.89, 1), "1,234,567.9");
  EXPECT_EQ(Number(-1234, 0), "-1,234");
  EXPECT_EQ(Number(-0.01, 1), "0.0");
}

TEST(Units, AreShown) {
  EXPECT_EQ(Percent(0.1234), "12.3 %");
  EXPECT_EQ(Size(core::GiB(4.5)), "4.5 GiB");
  EXPECT_EQ(Rate(core::GBps(4.5)), "4.5 GB/s");
  EXPECT_EQ(Size(core::GiB(0.99999)), "1.0 GiB");
  EXPECT_EQ(Size(core::Bytes(12)), "12 B");
  EXPECT_EQ(Times(1.084), "1.08x");
  EXPECT_EQ(Or(std::nullopt, Percent), "-");
}

}  // namespace
}  // namespace sharewell::report
