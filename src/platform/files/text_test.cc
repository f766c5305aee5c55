#include "platform/files/text.h"

#include <gmock/gmock.h>

namespace sharewell::platform {
namespace {

TEST(Text, TrimsAndLowers) {
  EXPECT_EQ(Trimmed(" \ta b "), "a b");
  EXPECT_EQ(Trimmed("  "), "");
  EXPECT_EQ(LowerCase("NVIDIA H200"), "nvidia h200");
}

TEST(Text, SplitsAListWithoutItsEmptyParts) {
  EXPECT_THAT(SplitList("V100; P100;;", ';'), testing::ElementsAre("V100", "P100"));
  EXPECT_THAT(SplitList("", ';'), testing::IsEmpty());
}

}  // namespace
}  // namespace sharewell::platform
