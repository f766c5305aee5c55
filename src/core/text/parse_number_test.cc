#include "core/text/parse_number.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(ParseMemory, KnowsItsUnits) {
  EXPECT_EQ(ParseMemory("8GB"), Bytes(8e9));
  EXPECT_EQ(ParseMemory("512 MiB"), Bytes(512.0 * 1024 * 1024));
  EXPECT_EQ(ParseMemory("4096"), Bytes(4096));
  for (const char* wrong : {"", "GB", "-1GB", "8gb", "nan", "1e30", "0.1"}) {
    EXPECT_FALSE(ParseMemory(wrong)) << wrong;
  }
}

TEST(ParseNumber, TimesHaveUnitsOrAClocksForm) {
  EXPECT_EQ(TimeFrom("90"), Seconds(90));
  EXPECT_EQ(TimeFrom("15m"), Seconds(900));
  EXPECT_EQ(TimeFrom("1.5h"), Seconds(5400));
  EXPECT_EQ(TimeFrom("7d"), Seconds(7 * 86400));
  EXPECT_EQ(TimeFrom("2-12:00:00"), Seconds(60 * 3600));
  for (const char* none : {"", "h", "-1h", "1w", "1:60:00", "1e308d", "24 h"}) {
    EXPECT_FALSE(TimeFrom(none)) << none;
  }
}

}  // namespace
}  // namespace sharewell::core
