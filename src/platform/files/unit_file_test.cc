#include "platform/files/unit_file.h"

#include <gtest/gtest.h>

namespace sharewell::platform {
namespace {

TEST(UnitFile, TheLastValueOfTheServiceCounts) {
  std::map<std::string, std::string> settings;
  ReadUnitSettings(
      "[Unit]\nMemoryMax=1G\n[Service]\n# MemoryMax=2G\nMemoryMax = 3G\nUser=a\n"
      "CapabilityBoundingSet=CAP_PERFMON\n[Install]\nUser=b\n",
      settings);
  EXPECT_EQ(settings["MemoryMax"], "3G");
  EXPECT_EQ(settings["User"], "a");
  ReadUnitSettings("[Service]\nUser=\nMemoryMax=4G\nCapabilityBoundingSet=CAP_SYS_ADMIN\n",
                   settings);
  EXPECT_EQ(settings["User"], "");
  EXPECT_EQ(settings["MemoryMax"], "4G");
  EXPECT_EQ(settings["CapabilityBoundingSet"], "CAP_PERFMON CAP_SYS_ADMIN");
  ReadUnitSettings("[Service]\nCapabilityBoundingSet=\nCapabilityBoundingSet=CAP_PERFMON\n=\n[",
                   settings);
  EXPECT_EQ(settings["CapabilityBoundingSet"], "CAP_PERFMON");
}

TEST(UnitFile, ValuesOfItsEnvironmentHaveNoQuotes) {
  const std::string text = "#A=0\nA=1\nAB=2\nA='3 4'\nC=\"\nD=\"\"\n";
  EXPECT_EQ(EnvironmentSetting(text, "A"), "3 4");
  EXPECT_EQ(EnvironmentSetting(text, "AB"), "2");
  EXPECT_EQ(EnvironmentSetting(text, "B"), "");
  EXPECT_EQ(EnvironmentSetting(text, "C"), "\"");
  EXPECT_EQ(EnvironmentSetting(text, "D"), "");
}

}  // namespace
}  // namespace sharewell::platform
