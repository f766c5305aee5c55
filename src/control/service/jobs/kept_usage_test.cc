#include "control/service/jobs/kept_usage.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

TEST(KeptUsage, B3_IsReadAsItWasWritten) {
  for (const KeptUsage& usage : {KeptUsage{}, KeptUsage{1234.5678901234, 1'700'000'000'000},
                                 KeptUsage{1e-300, -5}, KeptUsage{3e15, 1}}) {
    EXPECT_EQ(KeptUsageFrom(ToText(usage)), usage);
  }
  for (const char* text : {"", " ", "1", "1 ", "x 1", "1 x", "nan 1", "inf 1", "-1 1", "1 1 1",
                           "1 99999999999999999999"}) {
    EXPECT_FALSE(KeptUsageFrom(text)) << text;
  }
}

TEST(KeptUsage, B3_CountsHalfAfterADayAndNeverMore) {
  constexpr core::UnixMillis kDay = 24 * 3600 * 1000LL;
  EXPECT_NEAR(UsageAt({100, kDay}, 2 * kDay), 50, 1e-9);
  EXPECT_EQ(UsageAt({100, kDay}, 0), 100);
}

}  // namespace
}  // namespace sharewell::control
