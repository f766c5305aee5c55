#include "platform/process/cpu_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "platform/files/test_folder.h"

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

TEST(CpuSet, TakesCoresBeforeThreadsAndOneNodeBeforeTheNext) {
  // Two nodes of two cores with two threads each, numbered as Linux often does.
  std::vector<CpuPlace> places;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    places.push_back({.cpu = cpu, .node = core / 2, .package = core / 2, .core = core % 2});
  }
  EXPECT_EQ(PickCpus(places, 1), (std::vector<int>{0}));
  EXPECT_EQ(PickCpus(places, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(PickCpus(places, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(PickCpus(places, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(PickCpus(places, 5), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(PickCpus(places, 99).size(), 8U);
  EXPECT_TRUE(PickCpus(places, 0).empty());
}

TEST(CpuSet, TheLargerNodeFirst) {
  const std::vector<CpuPlace> places = {{.cpu = 0, .node = 0, .package = 0, .core = 0},
                                        {.cpu = 1, .node = 1, .package = 0, .core = 1},
                                        {.cpu = 2, .node = 1, .package = 0, .core = 2}};
  EXPECT_EQ(PickCpus(places, 2), (std::vector<int>{1, 2}));
}

TEST(CpuSet, ReadsPlacesFromSys) {
  const TestFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.Path(path)).parent_path());
    folder.Write(path, text);
  };
  write("sys/devices/system/node/online", "0-1\n");
  write("sys/devices/system/node/node0/cpulist", "0\n");
  write("sys/devices/system/node/node1/cpulist", "1\n");
  write("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
  write("sys/devices/system/cpu/cpu1/topology/core_id", "7\n");
  const auto places = CpuPlaces({0, 1}, folder.path());
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].node, 0);
  EXPECT_EQ(places[0].core, 0);
  EXPECT_EQ(places[1].node, 1);
  EXPECT_EQ(places[1].package, 1);
  EXPECT_EQ(places[1].core, 7);
}

}  // namespace
}  // namespace sharewell::platform
