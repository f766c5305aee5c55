#include "core/text/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace sharewell::core {
namespace {

const std::vector<std::string> kNames{"count", "gpus", "gpu", "memory_gb"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("gpu", "gpu"), 0U);
  EXPECT_EQ(EditDistance("gpu", "gpus"), 1U);
  EXPECT_EQ(EditDistance("gpu", "cpu"), 1U);
  EXPECT_EQ(EditDistance("conut", "count"), 1U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

TEST(Nearest, FindsAMisspeltName) {
  EXPECT_EQ(Nearest("cuont", kNames), "count");
  EXPECT_EQ(Nearest("Memory_GB", kNames), "memory_gb");
}

TEST(Nearest, TakesTheFirstOfEquals) {
  EXPECT_EQ(Nearest("ab", std::vector<std::string>{"ac", "ad"}), "ac");
}

TEST(Nearest, IsSilentWhenNothingIsAlike) {
  EXPECT_EQ(Nearest("frobnicate", kNames), std::nullopt);
  EXPECT_EQ(Nearest("zz", std::vector<std::string>{"T4"}), std::nullopt);
  EXPECT_EQ(Nearest("", kNames), std::nullopt);
  EXPECT_EQ(Nearest(std::string(100000, 'g'), kNames), std::nullopt);
  EXPECT_EQ(DidYouMean("frobnicate", kNames), "");
  EXPECT_EQ(DidYouMean("gpuss", kNames), "; did you mean 'gpus'?");
}

}  // namespace
}  // namespace sharewell::core
