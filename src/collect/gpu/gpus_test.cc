#include "collect/gpu/gpus.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "collect/gpu/nvml/nvidia_cards.h"
#include "collect/metrics/gpu_metrics.h"
#include "platform/files/test_folder.h"
#include "testing/recorded_nvml.h"

namespace sharewell::collect {
namespace {

using fixtures::RecordedNvml;
using ::testing::HasSubstr;

TEST(FindGpusTest, TheFactsOfAnH200) {
  RecordedNvml nvml;
  nvml.Load("tests/fixtures/nvml/h200-idle.json");
  const auto gpus = FindGpus(RecordedNvml::Library());
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 1U);
  const GpuFacts& gpu = gpus->front();
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.driver, "580.159.04");
  EXPECT_EQ(gpu.cuda, "13.0");
  EXPECT_EQ(gpu.pci_bus, "00000000:00:06.0");
  EXPECT_EQ(gpu.minor, "0");
  EXPECT_EQ(gpu.compute, "9.0");
  EXPECT_EQ(gpu.memory, core::Bytes(150754820096.0));
  EXPECT_EQ(gpu.power_limit, core::Watts(700));
  EXPECT_TRUE(gpu.gpm);
  EXPECT_TRUE(gpu.mps);
  EXPECT_FALSE(gpu.mig);
  EXPECT_FALSE(gpu.uuid.empty());
}

TEST(FindGpusTest, WhatIsNotSaidIsEmpty) {
  RecordedNvml nvml;
  nvml.LoadText(R"({"gpus":[{"name":"Old"},{}],"steps":[{"t":0,"gpus":[{},{"error":15}]}]})");
  const auto gpus = FindGpus(RecordedNvml::Library());
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 2U);
  GpuFacts old;
  old.name = "Old";
  EXPECT_EQ((*gpus)[0], old);
  GpuFacts lost;
  lost.index = 1;
  EXPECT_EQ((*gpus)[1], lost);
}

TEST(FindGpusTest, WhatThePcieLinkCarries) {
  RecordedNvml nvml;
  nvml.LoadText(R"({"gpus":[{"name":"A","pcie_generation":5,"pcie_width":16},
                            {"name":"B","pcie_generation":2,"pcie_width":8},
                            {"name":"C","pcie_generation":4}],
                    "steps":[{"t":0,"gpus":[{},{},{}]}]})");
  const auto gpus = FindGpus(RecordedNvml::Library());
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 3U);
  EXPECT_NEAR((*gpus)[0].pcie.value().value, 63e9, 0.1e9);
  EXPECT_EQ((*gpus)[1].pcie, core::GBps(4));
  EXPECT_FALSE((*gpus)[2].pcie) << "half of it is not enough";
}

TEST(FindGpusTest, MigInstancesAreGpusOfTheirOwn) {
  RecordedNvml nvml;
  nvml.LoadText(
      R"({"gpus":[{"name":"NVIDIA H200","mig_mode":[1,1],"max_migs":7,"migs":[
            {"uuid":"MIG-b","name":"NVIDIA H200 MIG 3g.71gb"},
            {"uuid":"MIG-a","name":"NVIDIA H200 MIG 1g.18gb"}]}],
          "steps":[{"t":0,"gpus":[{"memory":{"total":150,"free":1,"used":1},"migs":[
            {"gpu_instance":5,"memory":{"total":70,"free":1,"used":1}},
            {"gpu_instance":2,"memory":{"total":18,"free":1,"used":1}}]}]}]})");
  const auto gpus = FindGpus(RecordedNvml::Library());
  ASSERT_TRUE(gpus);
  EXPECT_TRUE(gpus->front().mig);
  const std::vector<MigFacts> expected{{2, "MIG-a", "1g.18gb", core::Bytes(18)},
                                       {5, "MIG-b", "3g.71gb", core::Bytes(70)}};
  EXPECT_EQ(gpus->front().migs, expected);
}

TEST(FindGpusTest, WhichGpusAreNearEachOther) {
  RecordedNvml nvml;
  // Pairs joined by NVLink, two GPUs of each processor below one switch.
  nvml.LoadText(R"({"gpus":[{"name":"A","ancestors":[0,30,50,50],"nvlink_to":[1]},
                            {"name":"B","ancestors":[30,0,50,50],"nvlink_to":[0]},
                            {"name":"C","ancestors":[50,50,0,20],"nvlink_to":[]},
                            {"name":"D","ancestors":[50,50,20,0],"nvlink_to":[]}],
                    "steps":[{"t":0,"gpus":[{},{},{},{}]}]})");
  auto gpus = FindGpus(RecordedNvml::Library()).value();
  EXPECT_THAT(gpus[0].distances, ::testing::ElementsAre(0, 0, 3, 3));
  EXPECT_THAT(gpus[3].distances, ::testing::ElementsAre(3, 3, 1, 0));
  EXPECT_EQ(IslandsOf(gpus).Text(), "0,1|2|3/0,1|2,3");
  gpus.erase(gpus.begin());
  EXPECT_EQ(IslandsOf(gpus).Text(), "0|1,2") << "by their order";
  gpus[0].distances.clear();
  EXPECT_EQ(IslandsOf(gpus).Text(), "0|1,2") << "one that does not answer is far";
}

TEST(FindGpusTest, NobodyIsNearWhereTheDriverDoesNotSay) {
  RecordedNvml nvml;
  nvml.LoadText(R"({"gpus":[{"name":"A","ancestors":[0,10,50]},{"name":"B","ancestors":[10,0,50]},
                            {"name":"C"}],
                    "steps":[{"t":0,"gpus":[{},{},{}]}]})");
  const auto gpus = FindGpus(RecordedNvml::Library()).value();
  EXPECT_TRUE(gpus[0].distances.empty());
  EXPECT_FALSE(IslandsOf(gpus).known());
}

TEST(FindGpusTest, NoDriver) {
  const auto gpus = FindGpus("/nonexistent/libnvidia-ml.so.1");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(gpus.error().message, HasSubstr("install the driver"));
}

TEST(NvidiaCardsTest, CountsCardsAndNotTheirSound) {
  const platform::TestFolder folder;
  const auto add = [&](const std::string& slot, const std::string& vendor,
                       const std::string& kind) {
    const std::string path = "sys/bus/pci/devices/" + slot;
    std::filesystem::create_directories(folder.Path(path));
    folder.Write(path + "/vendor", vendor + "\n");
    folder.Write(path + "/class", kind + "\n");
  };
  EXPECT_EQ(NvidiaCards(folder.path()), 0);
  add("0000:01:00.0", "0x10de", "0x030200");
  add("0000:01:00.1", "0x10de", "0x040300");
  add("0000:02:00.0", "0x10de", "0x030000");
  add("0000:03:00.0", "0x1a03", "0x030000");
  EXPECT_EQ(NvidiaCards(folder.path()), 2);
}

TEST(GpuMetricsTest, NamesAreUniqueAndHelpIsASentence) {
  std::set<std::string_view> names;
  for (const core::Metric* metric : kGpuMetrics) {
    EXPECT_TRUE(names.insert(metric->name).second) << metric->name;
    EXPECT_TRUE(metric->help.ends_with('.')) << metric->name;
    EXPECT_EQ(metric->instance, "gpu") << metric->name;
  }
}

}  // namespace
}  // namespace sharewell::collect
