#include "server/live/this_machine.h"

#include <gmock/gmock.h>

namespace sharewell::server {
namespace {

using core::GiB;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const HostFacts kHost{"box", 64, GiB(512)};

collect::GpuFacts Card(int index, const std::string& name, double gib) {
  collect::GpuFacts gpu;
  gpu.index = index;
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.name = name;
  gpu.memory = GiB(gib);
  gpu.pci_bus = "00000000:01:00.0";
  return gpu;
}

MachineHere Machine(const std::string& declared, const std::vector<collect::GpuFacts>& found) {
  auto machine = MachineOf(kHost, declared, found, catalogue::GpuCatalogue::Builtin());
  EXPECT_TRUE(machine) << machine.error().message;
  return machine ? *std::move(machine) : MachineHere();
}

TEST(ThisMachine, CardsOfOneModelAreOneNode) {
  const MachineHere here =
      Machine("", {Card(0, "NVIDIA H200", 140.4), Card(1, "NVIDIA H200", 140.4)});
  ASSERT_THAT(here.cluster.nodes(), SizeIs(1));
  EXPECT_EQ(here.cluster.nodes()[0].gpus, 2);
  EXPECT_EQ(here.cluster.nodes()[0].cores, 64);
  ASSERT_THAT(here.gpus, SizeIs(2));
  EXPECT_EQ(here.gpus[1].gpu, (core::GivenGpu{1, "GPU-1", "H200"}));
  EXPECT_FALSE(here.gpus[1].simulated);
  EXPECT_EQ(here.cluster.models()[0].memory, GiB(140.4)) << "what is there, not the data sheet";
  EXPECT_THAT(here.instances, ElementsAre("0", "1"));
  EXPECT_THAT(here.remarks, IsEmpty());
}

TEST(ThisMachine, KnowsWhichCardsAreNearEachOther) {
  std::vector<collect::GpuFacts> cards;
  for (int i = 0; i < 4; ++i) {
    cards.push_back(Card(i, i == 1 ? "NVIDIA A100" : "NVIDIA H200", 80));
    for (int j = 0; j < 4; ++j) cards.back().distances.push_back(i / 2 == j / 2 ? 1 : 3);
  }
  const MachineHere here = Machine("", cards);
  ASSERT_THAT(here.cluster.nodes(), SizeIs(2));
  EXPECT_EQ(here.cluster.nodes()[0].islands.Text(), "0|1,2") << "of those of its model";
  EXPECT_FALSE(here.cluster.nodes()[1].islands.known());
}

TEST(ThisMachine, OneSimulatedGpuIsOne) {
  EXPECT_THAT(Machine("1xH200", {}).remarks,
              Contains("1 simulated GPU: jobs are real processes, the GPU is not there"));
  EXPECT_THAT(Machine("2xH200", {}).remarks,
              Contains("2 simulated GPUs: jobs are real processes, the GPUs are not there"));
}

TEST(ThisMachine, N3_SimulatedGpusComeWithCoresWhereTheHostHasFew) {
  const HostFacts small{.name = "box", .cores = 2, .memory = GiB(8)};
  const auto here = MachineOf(small, "2xH200", {}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(here);
  EXPECT_EQ(here->cluster.nodes()[0].cores, 32);
  EXPECT_TRUE(here->simulated_cores);
  EXPECT_THAT(here->remarks, Contains(HasSubstr("32 simulated CPU cores, 16 for each GPU: this "
                                                "machine has 2")));
  EXPECT_FALSE(Machine("2xH200", {}).simulated_cores) << "64 are enough for two";
  const auto real =
      MachineOf(small, "", {Card(0, "NVIDIA H200", 141)}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(real);
  EXPECT_EQ(real->cluster.nodes()[0].cores, 2);
  EXPECT_FALSE(real->simulated_cores);
}

TEST(ThisMachine, JobsHaveTheHostsMemoryButForTheSystemsPart) {
  const auto card = Card(0, "NVIDIA H200", 141);
  EXPECT_NEAR(*Machine("", {card}).cluster.nodes()[0].memory / GiB(1), 512 * 0.95, 0.01);
  const auto both = Machine("", {card, Card(1, "NVIDIA A100-SXM4-80GB", 80)});
  ASSERT_THAT(both.cluster.nodes(), SizeIs(2));
  EXPECT_NEAR(*both.cluster.nodes()[1].memory / GiB(1), 256 * 0.95, 0.01) << "shared out";
  const HostFacts small{.name = "box", .cores = 2, .memory = GiB(8)};
  const auto simulated = MachineOf(small, "2xH200", {}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(simulated);
  EXPECT_NEAR(*simulated->cluster.nodes()[0].memory / GiB(1), 128, 0.01);
  EXPECT_THAT(simulated->remarks, Contains(HasSubstr("128 GiB of simulated host memory")));
  const HostFacts unknown{.name = "box", .cores = 2, .memory = {}};
  const auto silent = MachineOf(unknown, "none", {}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(silent);
  EXPECT_FALSE(silent->cluster.nodes()[0].memory);
}

TEST(ThisMachine, PcieIsWhatTheLinksOfItsCardsCarryTogether) {
  auto first = Card(0, "NVIDIA H200", 141), second = Card(1, "NVIDIA H200", 141);
  first.pcie = second.pcie = core::GBps(63);
  second.pci_bus = "00000000:02:00.0";
  EXPECT_EQ(Machine("", {first, second}).cluster.nodes()[0].pcie, core::GBps(126));
  second.pcie.reset();
  EXPECT_FALSE(Machine("", {first, second}).cluster.nodes()[0].pcie) << "a part is no sum";
  EXPECT_FALSE(Machine("2xH200", {}).cluster.nodes()[0].pcie) << "simulated ones have none";
}

TEST(ThisMachine, F25_AnUnknownModelIsToldTheKnownOnesNearestFirst) {
  const auto machine = MachineOf(kHost, "1xH20", {}, catalogue::GpuCatalogue::Builtin());
  ASSERT_FALSE(machine);
  const std::string& message = machine.error().message;
  EXPECT_THAT(message, HasSubstr("unknown GPU model 'H20'; the models are H"));
  EXPECT_LT(message.find("H200"), message.find("K80"));
  EXPECT_EQ(message.find("--gpu-catalogue"), std::string::npos) << "serve has no such flag";
}

TEST(ThisMachine, SeveralModelsAreSeveralNodesWithTheirPartOfTheCores) {
  const MachineHere here =
      Machine("", {Card(0, "NVIDIA H200", 141), Card(1, "NVIDIA Future 9000", 141), Card(2, "", 0),
                   Card(3, "NVIDIA H200", 141)});
  ASSERT_THAT(here.cluster.nodes(), SizeIs(2));
  EXPECT_EQ(here.cluster.nodes()[0].cores, 42);
  EXPECT_EQ(here.cluster.nodes()[1].cores, 21);
  ASSERT_THAT(here.gpus, SizeIs(3));
  EXPECT_EQ(here.gpus[1].gpu.index, 3) << "by model first; people call it as the driver does";
  EXPECT_EQ(here.gpus[2].gpu.model, "NVIDIA Future 9000");
  EXPECT_GT(here.cluster.models()[1].bandwidth.value, 0);
  EXPECT_THAT(here.remarks,
              Contains(AllOf(HasSubstr("Future 9000"), HasSubstr("as fast as H200"))));
  EXPECT_THAT(here.remarks, Contains(HasSubstr("GPU 2 does not answer")));
}

TEST(ThisMachine, MigInstancesAreGpusOfTheirOwnSize) {
  collect::GpuFacts cut = Card(0, "NVIDIA H200", 140);
  cut.mig = true;
  cut.migs = {{2, "MIG-a", "1g.18gb", GiB(17.5)},
              {5, "MIG-b", "3g.71gb", GiB(70)},
              {6, "MIG-c", "1g.18gb", GiB(17.5)}};
  const MachineHere here = Machine("", {cut, Card(1, "NVIDIA H200", 140)});
  ASSERT_THAT(here.cluster.models(), SizeIs(3));
  const core::GpuModel& small = here.cluster.models()[0];
  EXPECT_EQ(small.name, "H200 1g.18gb");
  EXPECT_EQ(small.memory, GiB(17.5));
  const core::GpuModel& whole = here.cluster.models()[2];
  EXPECT_NEAR(small.fp32_tflops, whole.fp32_tflops / 7, 1e-9);
  EXPECT_NEAR(small.bandwidth / whole.bandwidth, 0.125, 1e-9);
  EXPECT_EQ(here.cluster.nodes()[0].gpus, 2);
  EXPECT_THAT(here.instances, ElementsAre("0:2", "0:6", "0:5", "1"));
  EXPECT_EQ(here.gpus[1].gpu, (core::GivenGpu{2, "MIG-c", "H200 1g.18gb"}));
}

TEST(ThisMachine, DeclaredGpusAreMarkedAsSimulated) {
  const MachineHere here = Machine("2xH200, 1xA100", {Card(0, "NVIDIA H200", 141)});
  ASSERT_THAT(here.gpus, SizeIs(3));
  EXPECT_EQ(here.gpus[2].gpu.uuid, "simulated-2");
  EXPECT_TRUE(here.gpus[2].simulated);
  EXPECT_THAT(here.cluster.models(), SizeIs(2));
  for (const char* wrong :
       {"H200", "2x", "0xH200", "-1xH200", "99999xH200", "2xH2OO", "2xH200,,"}) {
    const auto machine = MachineOf(kHost, wrong, {}, catalogue::GpuCatalogue::Builtin());
    ASSERT_FALSE(machine) << wrong;
    EXPECT_EQ(machine.error().kind, core::ErrorKind::kUsage) << wrong;
  }
}

TEST(ThisMachine, WithoutAGpuItIsForCpuOnlyJobs) {
  for (const char* declared : {"", "none"}) {
    const MachineHere here = Machine(declared, {});
    ASSERT_THAT(here.cluster.nodes(), SizeIs(1));
    EXPECT_EQ(here.cluster.nodes()[0].gpus, 0);
    EXPECT_EQ(here.cluster.nodes()[0].cores, 64);
    EXPECT_THAT(here.gpus, IsEmpty());
  }
  const auto found = FindMachine({"none", ""}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(found);
  EXPECT_GE(found->cluster.nodes()[0].cores.value_or(0), 0.01);
}

}  // namespace
}  // namespace sharewell::server
