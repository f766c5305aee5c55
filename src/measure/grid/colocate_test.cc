#include "measure/grid/colocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::measure {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char* kSpec = R"(
name = "packing"
again = true
[[workloads]]
name = "RN"
command = ["train", "60"]
workload = { name = "tv:resnet50@224", batch = 64, precision = "bf16", workers = 4 }
[[workloads]]
name = "DLRM"
command = ["train", "100"]
cpus = 1
[[workloads]]
name = "TFM"
command = ["train", "30"]
cpus = 2
)";

std::string ErrorOf(const std::string& text) {
  const auto spec = ReadColocateSpecText(text, "c.toml");
  EXPECT_FALSE(spec) << text;
  return spec ? "" : spec.error().message;
}

std::string TwoWith(const std::string& top) {
  return "name = \"n\"\n" + top +
         "\n[[workloads]]\nname=\"a\"\ncommand=[\"x\"]\n[[workloads]]\nname=\"b\"\ncommand=[\"x\"]"
         "\n";
}

TEST(ColocateSpec, MakesAllPairs) {
  const auto spec = ReadColocateSpecText(kSpec, "c.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_THAT(spec->sets, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 2), ElementsAre(1, 2)));
  EXPECT_EQ(spec->workloads[0].workload, (core::Workload{"tv:resnet50@224", 64, "bf16", 4}));
  EXPECT_EQ(spec->workloads[1].workload.name, "DLRM");
}

TEST(ColocateSpec, SetsAreWordsOrLists) {
  EXPECT_THAT(ReadColocateSpecText(TwoWith("with_itself = true"), "")->sets, SizeIs(3));
  EXPECT_THAT(ReadColocateSpecText(TwoWith("sets=\"triples\"\nwith_itself=true"), "")->sets,
              SizeIs(4));
  EXPECT_THAT(
      ReadColocateSpecText(TwoWith("sets=[[\"b\",\"a\"],[\"a\",\"b\"],[\"a\",\"a\",\"b\"]]"), "")
          ->sets,
      ElementsAre(ElementsAre(0, 1), ElementsAre(0, 0, 1)));
}

TEST(ColocateSpec, ErrorsSayWhereAndWhatToDo) {
  EXPECT_THAT(ErrorOf(TwoWith("sets = [[\"a\", \"bb\"]]")), HasSubstr("line 2"));
  EXPECT_THAT(ErrorOf(TwoWith("sets = [[\"a\"]]")), HasSubstr("lists of 2 to 8"));
  EXPECT_THAT(ErrorOf(TwoWith("sets = 3")), HasSubstr("\"pairs\""));
  EXPECT_THAT(ErrorOf(TwoWith("sets = \"triples\"")), HasSubstr("with_itself"));
  EXPECT_THAT(ErrorOf(TwoWith("mps = \"yes\"")), HasSubstr("\"auto\""));
  EXPECT_THAT(ErrorOf(TwoWith("throughput = \"none\"")), HasSubstr("$SHAREWELL_PROGRESS"));
  EXPECT_THAT(ErrorOf("name=\"n\""), HasSubstr("[[workloads]]"));
  EXPECT_THAT(ErrorOf("name=\"n\"\n[[workloads]]\nname=\"a\""), HasSubstr("no command"));
  EXPECT_THAT(ErrorOf("name=\"n\"\n[[workload]]\nname=\"a\""),
              HasSubstr("did you mean 'workloads'?"));
}

// Rates alone stand in the commands; beside others everyone loses a fifth, DLRM beside TFM more.
struct FakeGpu {
  int runs = 0;
  std::vector<std::vector<std::string>> sets;
  std::vector<RunSpec> last;
  bool no_rates = false;
  std::string no_room_for;  // together with anyone

  std::optional<core::Bytes> memory;  // for all of the last set together

  core::Result<Watched> operator()(std::span<const RunSpec> specs, const WatchOptions& watch) {
    ++runs;
    memory = watch.memory;
    last.assign(specs.begin(), specs.end());
    sets.emplace_back();
    Watched out;
    for (const RunSpec& spec : specs) {
      sets.back().push_back(spec.name);
      core::ProfileRecord record;
      record.profile.workload = spec.workload;
      record.profile.busy = 0.6;
      double rate = std::stod(spec.command[1]);
      if (specs.size() > 1) rate *= 0.8;
      if (specs.size() > 1 && spec.name == "DLRM" && specs[1].name == "TFM") rate *= 0.4;
      if (!no_rates) record.profile.steps_per_second = rate;
      record.figures.emplace_back();
      if (specs.size() > 1 && spec.name == no_room_for) {
        record.exit_code = 1;
        std::ofstream(spec.out.file) << "torch.OutOfMemoryError: CUDA out of memory.\n";
      }
      if (specs.size() > 1 && watch.memory && *watch.memory < core::Bytes(1e9)) {
        record.exit_code = 137;
        out.memory_killed.insert(spec.name);
      }
      out.records.push_back(record);
    }
    return out;
  }
};

class ColocateTest : public ::testing::Test {
 protected:
  core::Result<ColocateResult> Go(FakeGpu& gpu, int cores = 4, const std::string& spec = kSpec) {
    ColocateOptions options;
    options.grid.folder = folder_.Path("out");
    options.grid.run = [&](std::span<const RunSpec> specs, const WatchOptions& watch) {
      return gpu(specs, watch);
    };
    for (int i = 0; i < cores; ++i) options.grid.cpus.push_back(i);
    options.grid.gpus.resize(1);
    options.grid.gpus[0].name = "NVIDIA H200";
    options.mps = true;
    options.mps_environment = {{"CUDA_MPS_PIPE_DIRECTORY", "/p"}};
    return Colocate(*ReadColocateSpecText(spec, "c.toml"), options);
  }

  platform::TestFolder folder_;
};

TEST_F(ColocateTest, EachAloneThenTogetherThenAloneAgain) {
  FakeGpu gpu;
  const auto result = Go(gpu);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(gpu.runs, 9);
  EXPECT_THAT(gpu.sets[3], ElementsAre("RN", "DLRM"));
  EXPECT_THAT(gpu.last[0].environment, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", "/p")));
  ASSERT_THAT(result->groups, SizeIs(3));
  EXPECT_NEAR(*result->groups[0].speeds[0], 0.8, 1e-9);
  EXPECT_EQ(result->groups[0].fit, Packing::kSharing);
  EXPECT_NEAR(*result->groups[0].summed_utilisation, 1.2, 1e-9);
  // Slower than by taking turns.
  EXPECT_NEAR(*result->groups[2].speeds[0], 0.32, 1e-9);
  EXPECT_EQ(result->groups[2].fit, Packing::kConflicting);
  EXPECT_EQ(result->alone[0].Drift(), 0);
}

TEST_F(ColocateTest, ASecondStartRepeatsNothing) {
  FakeGpu first, second;
  ASSERT_TRUE(Go(first));
  const auto again = Go(second);
  ASSERT_TRUE(again);
  EXPECT_EQ(second.runs, 0);
  EXPECT_NEAR(*again->groups[0].speeds[0], 0.8, 1e-9);
}

TEST_F(ColocateTest, NoRoomTogetherIsAResult) {
  FakeGpu gpu;
  gpu.no_room_for = "TFM";
  const auto result = Go(gpu);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->groups[0].fits);
  EXPECT_FALSE(result->groups[1].fits);
  EXPECT_EQ(result->groups[1].fit, Packing::kDoesNotFit);
  EXPECT_THAT(result->groups[1].why, HasSubstr("out of memory"));
}

TEST_F(ColocateTest, WithoutARateThereIsNoSpeed) {
  FakeGpu gpu;
  gpu.no_rates = true;
  const auto result = Go(gpu);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("RN told no steps"));
  EXPECT_EQ(gpu.runs, 3);
}

TEST_F(ColocateTest, CpusAreApartWhereThereAreEnough) {
  FakeGpu gpu;
  auto result = Go(gpu);
  ASSERT_TRUE(result);
  FakeGpu few;
  folder_.Write("out/cells.jsonl", "");
  result = Go(few, 2);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->notes, Contains(HasSubstr("they share them")));
  FakeGpu none;
  EXPECT_THAT(Go(none, 1).error().message, HasSubstr("TFM asks for 2 CPUs"));
}

TEST_F(ColocateTest, AShareIsForCompanyAndAGpuForAlways) {
  const std::string spec = R"(
name = "shares"
cpus = 2
[[workloads]]
name = "A"
command = ["train", "60"]
sm_percent = 80
gpu = 0
[[workloads]]
name = "B"
command = ["train", "30"]
numa_node = 0
)";
  FakeGpu gpu;
  const auto result = Go(gpu, 4, spec);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_THAT(gpu.last, SizeIs(2));
  EXPECT_THAT(gpu.last[0].environment, Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "80")));
  EXPECT_THAT(gpu.last[0].environment, Contains(Pair("CUDA_VISIBLE_DEVICES", "0")));
  EXPECT_THAT(gpu.last[1].environment, ::testing::Not(Contains(Pair("CUDA_VISIBLE_DEVICES", "0"))));
  EXPECT_THAT(gpu.last[0].cpus, ::testing::Optional(SizeIs(2))) << "two for all of the set";
  EXPECT_EQ(result->alone[0].sm_percent, 80);

  FakeGpu other;
  folder_.Write("out/cells.jsonl", "");
  ASSERT_TRUE(Go(other, 4, spec));
  EXPECT_EQ(other.runs, 3);
  EXPECT_THAT(ErrorOf(TwoWith("mps = \"off\"") + "sm_percent = 50\n"), HasSubstr("CUDA MPS"));
  const auto error = [&](const std::string& old, const std::string& with) {
    std::string changed = spec;
    changed.replace(changed.find(old), old.size(), with);
    FakeGpu none;
    const auto failed = Go(none, 4, changed);
    return failed ? "" : failed.error().message;
  };
  EXPECT_THAT(error("gpu = 0", "gpu = 3"), HasSubstr("asks for GPU 3, and there are 1"));
  EXPECT_THAT(error("numa_node = 0", "numa_node = 9"), HasSubstr("NUMA node 9 has no CPU"));
  EXPECT_THAT(error("cpus = 2", "cpus = 9"), HasSubstr("9 CPUs, and there are 4"));
}

TEST_F(ColocateTest, HostMemoryOfAWholeSet) {
  const std::string spec = R"(
name = "memory"
memory = "40GB"
[[workloads]]
name = "A"
command = ["train", "60"]
[[workloads]]
name = "B"
command = ["train", "30"]
)";
  FakeGpu gpu;
  ASSERT_TRUE(Go(gpu, 4, spec));
  EXPECT_EQ(gpu.memory, core::Bytes(40e9));
  std::string little = spec;
  little.replace(little.find("40GB"), 4, "40MB");
  const auto result = Go(gpu, 4, little);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(gpu.runs, 6) << "with another bound it is measured anew";
  EXPECT_THAT(result->groups[0].why, HasSubstr("out of host memory"));
  EXPECT_THAT(ErrorOf(TwoWith("memory = \"much\"")), HasSubstr("must be a size"));
}

}  // namespace
}  // namespace sharewell::measure
