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

TEST(Words, SizesGoByThousands) {
  EXPECT_EQ(SizeText(Bytes(512)), "512 B");
  EXPECT_EQ(SizeText(Bytes(1.5e9)), "1.5 GB");
  EXPECT_EQ(SizeText(Bytes(999.96e6)), "1.0 GB");
}

}  // namespace
}  // namespace sharewell::core
