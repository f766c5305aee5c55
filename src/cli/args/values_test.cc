#include "cli/args/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sharewell::cli {
namespace {

using ::testing::HasSubstr;

TEST(ParseNumber, RefusesWhatIsNoNumberInRange) {
  EXPECT_EQ(ParseNumber("--x", "1.5", 1, 2).value(), 1.5);
  EXPECT_EQ(ParseNumber("--x", "1", 1, 2).value(), 1);
  for (const char* bad : {"", " ", "nan", "NaN", "inf", "-1", "1e400", "abc", "1.5x", " 1.5",
                          "1.5 ", "+1", "0x1", "2.1", "1,5"}) {
    const auto value = ParseNumber("--x", bad, 1, 2);
    ASSERT_FALSE(value) << bad;
    EXPECT_EQ(value.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(value.error().message, HasSubstr("--x"));
    EXPECT_THAT(value.error().message, HasSubstr("from 1 to 2"));
  }
}

TEST(ParseWhole, KeepsAllBits) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(ParseWhole("--seed", "18446744073709551615", 0, kMost).value(), kMost);
  for (const char* bad : {"", "-1", "1.0", "18446744073709551616", "1e3", "7 "}) {
    EXPECT_FALSE(ParseWhole("--seed", bad, 0, kMost)) << bad;
  }
}

TEST(ParseShare, TakesPercentsAlone) {
  EXPECT_EQ(ParseShare("--sm-share", "60%").value(), 0.6);
  EXPECT_EQ(ParseShare("--sm-share", "100%").value(), 1);
  EXPECT_EQ(ParseShare("--sm-share", "12.5%").value(), 0.125);
  for (const char* bad : {"", "%", "60", "0.6", "0%", "-5%", "101%", "nan%", "60 %", "60%%"}) {
    const auto share = ParseShare("--sm-share", bad);
    ASSERT_FALSE(share) << bad;
    EXPECT_EQ(share.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(share.error().message, HasSubstr("give a percentage from 1 to 100, like 60%"));
  }
}

TEST(ParseTime, TakesUnits) {
  EXPECT_EQ(ParseTime("--until", "90", 9)->value, 90);
  EXPECT_EQ(ParseTime("--until", "90s", 9)->value, 90);
  EXPECT_EQ(ParseTime("--until", "1.5m", 9)->value, 90);
  EXPECT_EQ(ParseTime("--until", "12h", 9)->value, 43200);
  EXPECT_EQ(ParseTime("--until", "3d", 9)->value, 259200);
  EXPECT_EQ(ParseTime("--until", "1:00:00", 9)->value, 3600);
  EXPECT_EQ(ParseTime("--until", "01:02:03", 9)->value, 3723);
  EXPECT_EQ(ParseTime("--until", "2-12:00:00", 9)->value, 216000);
  for (const char* bad :
       {"",           "s",        "d",           "-1",   "10d",     "1e300d",  "5w",
        "1h30m",      "nan",      "nand",        "1:00", "1:60:00", "1:00:0x", "1:00:00:00",
        "9-23:00:00", "-1:00:00", "1.5-1:00:00", "::",   "1::1",    "1:00:00s"}) {
    EXPECT_FALSE(ParseTime("--until", bad, 9)) << bad;
  }
}

TEST(ParseBytes, WantsAUnit) {
  EXPECT_EQ(ParseBytes("--memory", "10GB")->value, 1e10);
  EXPECT_EQ(ParseBytes("--memory", "1.5gib")->value, 1.5 * (1 << 30));
  EXPECT_EQ(ParseBytes("--memory", "512B")->value, 512);
  EXPECT_EQ(ParseBytes("--memory", "10G")->value, 10.0 * (1 << 30));
  EXPECT_EQ(ParseBytes("--memory", "512m")->value, 512.0 * (1 << 20));
  for (const char* bad : {"", "10", "10Gi", "GB", "-1GB", "0GB", "1e3GB", "10 GB", "nanGB", "10GBs",
                          "99999TB", "1..5GB", "10iB", "0.1B"}) {
    const auto value = ParseBytes("--memory", bad);
    ASSERT_FALSE(value) << bad;
    EXPECT_THAT(value.error().message, HasSubstr("like 10GB"));
  }
}

TEST(Values, HowLongAJobMayRunHasAUnit) {
  EXPECT_EQ(ParseTimeWithUnit("--time", "5m", 9)->value, 300);
  EXPECT_EQ(ParseTimeWithUnit("--time", "00:05:00", 9)->value, 300);
  EXPECT_EQ(ParseTimeWithUnit("--time", "1-00:00:00", 9)->value, 86400);
  for (const char* bare : {"5", "0", "60", "1.5", "1e3"}) {
    const auto refused = ParseTimeWithUnit("--time", bare, 9);
    ASSERT_FALSE(refused) << bare;
    EXPECT_THAT(refused.error().message, HasSubstr(std::string(bare) + "m for minutes"));
    EXPECT_EQ(refused.error().kind, core::ErrorKind::kUsage);
  }
  EXPECT_FALSE(ParseTimeWithUnit("--time", "soon", 9));
  EXPECT_FALSE(ParseTimeWithUnit("--time", "", 9));
}

TEST(ParseBelief, IsExactOrNoisy) {
  EXPECT_EQ(ParseBelief("--belief", "exact").value(), 0);
  EXPECT_EQ(ParseBelief("--belief", "noisy:0.5").value(), 0.5);
  for (const char* bad :
       {"", "noisy", "noisy:", "noisy:-1", "noisy:nan", "noisy:4", "unknown", "exact "}) {
    EXPECT_FALSE(ParseBelief("--belief", bad)) << bad;
  }
  EXPECT_EQ(ParseDurations("--durations", "unknown").value(), std::nullopt);
  EXPECT_EQ(ParseDurations("--durations", "exact").value(), 0);
  EXPECT_FALSE(ParseDurations("--durations", "Unknown"));
}

}  // namespace
}  // namespace sharewell::cli
