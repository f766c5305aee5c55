#include "core/text/iso_time.h"

#include <gtest/gtest.h>

#include <string>

namespace sharewell::core {
namespace {

TEST(IsoTime, ReadsDatesTimesAndOffsets) {
  constexpr UnixMillis kEight = 1'794'729'600'000;  // 2026-11-15T08:00:00Z
  EXPECT_EQ(ParseIsoTime("1970-01-01"), 0);
  EXPECT_EQ(ParseIsoTime("2026-11-15"), kEight - 8 * 3'600'000);
  EXPECT_EQ(ParseIsoTime("2026-11-15Z"), kEight - 8 * 3'600'000);
  for (const char* same : {"2026-11-15T08:00", "2026-11-15 08:00:00", "2026-11-15T08:00:00Z",
                           "2026-11-15T09:00:00+01:00", "2026-11-15T00:30:00-0730",
                           "2026-11-15T10:00+02", "2026-11-15T08:00:00.000Z"}) {
    EXPECT_EQ(ParseIsoTime(same), kEight) << same;
  }
  EXPECT_EQ(ParseIsoTime("2026-11-15T08:00:00.2567"), kEight + 256);
  EXPECT_EQ(ParseIsoTime("1969-12-31T23:59:59"), -1000);
  EXPECT_EQ(ParseIsoTime("2024-02-29"), 1'709'164'800'000);
  EXPECT_EQ(ParseIsoTime("2000-03-01"), 951'868'800'000);
}

TEST(IsoTime, WhatIsNoTimeIsNone) {
  for (const char* wrong : {"",
                            "2026",
                            "2026-13-01",
                            "2026-02-29",
                            "2026-11-15T",
                            "2026-11-15T8:00",
                            "2026-11-15T24:00",
                            "2026-11-15T08:60",
                            "2026-11-15T08:00:61",
                            "2026-11-15T08:00:00.",
                            "2026-11-15T08:00+",
                            "2026-11-15T08:00+1:00",
                            "2026-11-15T08:00+01:0",
                            "2026-11-15T08:00 x",
                            "2026-11-15x",
                            "20261115T080000",
                            "-026-11-15",
                            "0000-01-01",
                            "1763193600",
                            "NaN"}) {
    EXPECT_FALSE(ParseIsoTime(wrong)) << wrong;
  }
  EXPECT_FALSE(ParseIsoTime(std::string(100'000, '9')));
}

}  // namespace
}  // namespace sharewell::core
