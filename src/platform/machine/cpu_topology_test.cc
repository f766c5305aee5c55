#include "platform/machine/cpu_topology.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kTwoSocket = "tests/fixtures/host/two_socket";

TEST(PickCpus, TakesCoresBeforeThreadsAndOneNodeBeforeTheNext) {
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

TEST(PickCpus, TheLargerNodeFirst) {
  const std::vector<CpuPlace> places = {{.cpu = 0, .node = 0, .package = 0, .core = 0},
                                        {.cpu = 1, .node = 1, .package = 0, .core = 1},
                                        {.cpu = 2, .node = 1, .package = 0, .core = 2}};
  EXPECT_EQ(PickCpus(places, 2), (std::vector<int>{1, 2}));
}

class CpuTopologyTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.Path(path)).parent_path());
    folder.Write(path, text);
  }
  void Cache(const std::string& index, const char* level, const char* type, const char* size) {
    const std::string cache = "sys/devices/system/cpu/cpu0/cache/" + index + "/";
    Write(cache + "level", level);
    Write(cache + "type", type);
    Write(cache + "size", size);
    Write(cache + "shared_cpu_list", "0-1\n");
  }

  const TestFolder folder;
};

TEST_F(CpuTopologyTest, PlacesOfCpus) {
  Write("sys/devices/system/node/node0/cpulist", "0\n");
  Write("sys/devices/system/node/node1/cpulist", "1\n");
  Write("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
  Write("sys/devices/system/cpu/cpu1/topology/core_id", "7\n");
  const auto places = CpuPlaces({0, 1}, folder.path());
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].node, 0);
  EXPECT_EQ(places[0].core, 0) << "not told: its own number";
  EXPECT_EQ(places[1].node, 1);
  EXPECT_EQ(places[1].package, 1);
  EXPECT_EQ(places[1].core, 7);
}

TEST_F(CpuTopologyTest, ACapturedMachine) {
  const CpuCounts counts = CountCpus(kTwoSocket);
  EXPECT_EQ(counts.sockets, 2);
  EXPECT_EQ(counts.cores, 4);
  EXPECT_EQ(counts.threads, 4);
  EXPECT_THAT(NumaNodes(kTwoSocket), ElementsAre(0, 1));
}

TEST_F(CpuTopologyTest, ThreadsOfOneCoreAreOneCoreAndOfflineCpusNone) {
  for (const char* cpu : {"cpu0", "cpu1"}) {
    Write(std::string("sys/devices/system/cpu/") + cpu + "/topology/physical_package_id", "0\n");
    Write(std::string("sys/devices/system/cpu/") + cpu + "/topology/core_id", "3\n");
  }
  Write("sys/devices/system/cpu/cpu2/online", "0\n");
  Write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  const CpuCounts counts = CountCpus(folder.path());
  EXPECT_EQ(counts.sockets, 1);
  EXPECT_EQ(counts.cores, 1);
  EXPECT_EQ(counts.threads, 2);
}

TEST_F(CpuTopologyTest, AMachineThatTellsNothing) {
  EXPECT_EQ(CountCpus(folder.path()).threads, 0);
  EXPECT_THAT(NumaNodes(folder.path()), IsEmpty());
  EXPECT_THAT(NumaDistances(folder.path()), IsEmpty());
  EXPECT_EQ(LastLevelCache(0, folder.path()).bytes, std::nullopt);
  EXPECT_EQ(CpuPlaces({3}, folder.path()).at(0).core, 3);
}

TEST_F(CpuTopologyTest, TheLastCacheIsTheHighestThatHoldsData) {
  Cache("index0", "1\n", "Data\n", "48K\n");
  Cache("index1", "4\n", "Instruction\n", "64M\n");
  Cache("index2", "3\n", "Unified\n", "32768K\n");
  Cache("index3", "5\n", "Unified\n", "large\n");
  const CpuCache last = LastLevelCache(0, folder.path());
  EXPECT_EQ(last.level, 3);
  EXPECT_EQ(last.shared, "0-1");
  EXPECT_EQ(last.bytes, 32.0 * (1 << 20));
}

TEST_F(CpuTopologyTest, NodesAreSortedByNumberAndDistancesGoByThem) {
  Write("sys/devices/system/node/online", "0,2,10\n");
  Write("sys/devices/system/node/node0/distance", "10 21 32\n");
  Write("sys/devices/system/node/node2/distance", "21 10 31\n");
  Write("sys/devices/system/node/node10/distance", "32 31 10\n");
  EXPECT_THAT(NumaNodes(folder.path()), ElementsAre(0, 2, 10));
  const auto distances = NumaDistances(folder.path());
  EXPECT_EQ(distances.at(0).at(10), 32);
  EXPECT_EQ(distances.at(10).at(2), 31);
}

TEST_F(CpuTopologyTest, PciDevicesAsNvmlAndTheKernelNameThem) {
  Write("sys/bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
  Write("sys/bus/pci/devices/0000:1c:00.0/numa_node", "-1\n");
  EXPECT_EQ(PciNumaNode("00000000:1B:00.0", folder.path()), 1);
  EXPECT_EQ(PciNumaNode("0000:1b:00.0", folder.path()), 1);
  EXPECT_EQ(PciNumaNode("0000:1c:00.0", folder.path()), std::nullopt) << "it says -1";
  EXPECT_EQ(PciNumaNode("../../1b", folder.path()), std::nullopt);
  EXPECT_EQ(PciNumaNode("", folder.path()), std::nullopt);
}

}  // namespace
}  // namespace sharewell::platform
