#include "stress/level.h"

#include <gmock/gmock.h>

#include "stress/steadiness.h"

namespace sharewell::stress {
namespace {

using testing::HasSubstr;

TEST(Level, SharesAndAmountsAreRead) {
  EXPECT_EQ(*ParseLevel(PressureKind::kMemoryBandwidth, "75%"), Level::Share(0.75));
  EXPECT_EQ(*ParseLevel(PressureKind::kMemoryBandwidth, "10GB/s"), Level::Absolute(10e9));
  EXPECT_EQ(*ParseLevel(PressureKind::kPcie, "800MiB/s"), Level::Absolute(800.0 * 1024 * 1024));
  EXPECT_EQ(*ParseLevel(PressureKind::kDisk, "1.5mb/s"), Level::Absolute(1.5e6));
  EXPECT_EQ(*ParseLevel(PressureKind::kLastLevelCache, "32MiB"), Level::Absolute(32 << 20));
  EXPECT_EQ(*ParseLevel(PressureKind::kLastLevelCache, "100%"), Level::Share(1));
  EXPECT_EQ(*ParseLevel(PressureKind::kCpu, "1.5"), Level::Absolute(1.5));
}

TEST(Level, WhatIsNoLevelIsRefusedWithWhatIsAllowed) {
  struct Case {
    PressureKind kind;
    const char* text;
    const char* says;
  };
  for (const Case& c : {Case{PressureKind::kMemoryBandwidth, "", "10GB/s"},
                        {PressureKind::kMemoryBandwidth, "10GB", "10GB/s"},
                        {PressureKind::kMemoryBandwidth, "10", "10GB/s"},
                        {PressureKind::kMemoryBandwidth, "10XB/s", "10GB/s"},
                        {PressureKind::kMemoryBandwidth, "/s", "10GB/s"},
                        {PressureKind::kMemoryBandwidth, "0GB/s", "more than 0"},
                        {PressureKind::kMemoryBandwidth, "-3GB/s", "more than 0"},
                        {PressureKind::kMemoryBandwidth, "infGB/s", "more than 0"},
                        {PressureKind::kMemoryBandwidth, "nan%", "at most 100%"},
                        {PressureKind::kMemoryBandwidth, "0%", "more than 0%"},
                        {PressureKind::kMemoryBandwidth, "101%", "at most 100%"},
                        {PressureKind::kMemoryBandwidth, "%", "at most 100%"},
                        {PressureKind::kLastLevelCache, "32MB/s", "32MiB"},
                        {PressureKind::kCpu, "2cores", "1.5"},
                        {PressureKind::kCpu, "1e999", "1.5"},
                        {PressureKind::kDisk, "\x1b[2J%", "?[2J"}}) {
    const auto level = ParseLevel(c.kind, c.text);
    ASSERT_FALSE(level) << c.text;
    EXPECT_EQ(level.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(level.error().message, HasSubstr(c.says));
  }
  EXPECT_FALSE(ParseAmount(PressureKind::kMemoryBandwidth, "75%"));
}

TEST(Level, KindsHaveNames) {
  for (const PressureKind kind : kPressureKinds) EXPECT_EQ(*KindOf(NameOf(kind)), kind);
  const auto none = KindOf("menbw");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("did you mean 'membw'"));
}

TEST(Level, IsShownInItsUnit) {
  EXPECT_EQ(ShowLevel(PressureKind::kMemoryBandwidth, 10e9), "10.00 GB/s");
  EXPECT_EQ(ShowLevel(PressureKind::kLastLevelCache, 110100480), "110.1 MB");
  EXPECT_EQ(ShowLevel(PressureKind::kCpu, 1.5), "1.50 cores");
}

TEST(Steadiness, MeansAndDeviations) {
  const auto steady = SteadinessOf(100, {99, 101, 100, 100});
  ASSERT_TRUE(steady);
  EXPECT_DOUBLE_EQ(steady->mean, 100);
  EXPECT_DOUBLE_EQ(steady->error, 0);
  EXPECT_NEAR(*steady->variation, 0.00816, 1e-5);
  EXPECT_NEAR(steady->largest_deviation, 0.01, 1e-9);
  EXPECT_TRUE(steady->held);
}

TEST(Steadiness, ALevelThatIsMissedOrShakyIsNotHeld) {
  EXPECT_FALSE(SteadinessOf(100, {94, 94, 94})->held);
  EXPECT_FALSE(SteadinessOf(100, {106, 106, 106})->held);
  EXPECT_FALSE(SteadinessOf(100, {90, 110, 90, 110})->held);
  EXPECT_FALSE(SteadinessOf(100, {0, 0})->held);
  EXPECT_FALSE(SteadinessOf(100, {}));
  EXPECT_FALSE(SteadinessOf(100, {100})->variation);
}

}  // namespace
}  // namespace sharewell::stress
