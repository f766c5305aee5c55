#include "core/text/words.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(Words, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(Count(0, "job"), "0 jobs");
  EXPECT_EQ(Count(1, "job"), "1 job");
  EXPECT_EQ(Count(2, "job"), "2 jobs");
  EXPECT_EQ(Count(1, "family", "families"), "1 family");
  EXPECT_EQ(Count(2, "family", "families"), "2 families");
  EXPECT_EQ(Cores(1), "1 core");
  EXPECT_EQ(Cores(1.5), "1.5 cores");
}

TEST(Words, U13_MemoryIsCountedAsNvidiaSmiDoesAndRatesByThousands) {
  EXPECT_EQ(SizeText(Bytes(512)), "512 B");
  EXPECT_EQ(SizeText(GiB(1.5)), "1.5 GiB");
  EXPECT_EQ(SizeText(GiB(0.99999)), "1.0 GiB");
  EXPECT_EQ(SizeText(Bytes(143771.0 * 1024 * 1024)), "140.4 GiB") << "an H200";
  EXPECT_EQ(SizeText(GiB(1000)), "1000.0 GiB");
  EXPECT_EQ(RateText(GBps(4800)), "4.8 TB/s");
  EXPECT_EQ(RateText(BytesPerSecond(999.96e6)), "1.0 GB/s");
}

}  // namespace
}  // namespace sharewell::core
