#include "platform/process/cpu_set.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sharewell::platform {
namespace {

TEST(CpuSet, ParsesAndFormats) {
  EXPECT_EQ(*ParseCpus("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(*ParseCpus(" 8 , 3-3,0-1,1"), (std::vector<int>{0, 1, 3, 8}));
  EXPECT_EQ(FormatCpus({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(FormatCpus({5}), "5");
  EXPECT_EQ(FormatCpus({}), "");
}

TEST(CpuSet, RefusesWhatIsNone) {
  for (const char* text : {"", "3-1", "0,,2", "x", "-1", "1-", "0-99999999999", "70000", "1 2"}) {
    const auto parsed = ParseCpus(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, core::ErrorKind::kUsage);
    EXPECT_NE(parsed.error().message.find("0-3,8"), std::string::npos) << parsed.error().message;
  }
}

TEST(CpuSet, ThisProcessMayUseSome) {
  const auto cpus = AllowedCpus();
  EXPECT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
}

}  // namespace
}  // namespace sharewell::platform
