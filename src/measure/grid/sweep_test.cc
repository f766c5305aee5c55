#include "measure/grid/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char* kSpec = R"(
name = "cores"
command = ["train", "{model}"]
workload = { name = "tv:{model}", batch = 64 }
[axes]
model = ["alexnet", "vgg16"]
cpus = [1, 2, 4, 8]
)";

// Stands in for the machine: alexnet gains up to four cores, vgg16 nothing from the first.
struct FakeMachine {
  int runs = 0;
  int fail_from = 1000, interrupt_at = 1000;
  double at_most_cores = 1;  // of the rate
  std::optional<core::Ratio> uncertainty = {};

  core::Result<Watched> operator()(std::span<const RunSpec> specs, const WatchOptions& watch) {
    ++runs;
    EXPECT_EQ(watch.source, "sweep");
    Watched out;
    for (const RunSpec& spec : specs) {
      const double cores = spec.cpus ? static_cast<double>(spec.cpus->size()) : 16;
      core::ProfileRecord record;
      record.name = spec.name;
      record.profile.workload = spec.workload;
      record.profile.gpu = spec.gpu;
      record.profile.steps_per_second =
          spec.command[1] == "alexnet" ? 10 * std::min(cores, 4.0) : 5.0;
      if (cores >= 8) *record.profile.steps_per_second *= at_most_cores;
      record.profile.cpu_cores = std::min(cores, 4.0);
      record.uncertainty = uncertainty;
      record.window = core::Seconds(5);
      if (runs >= fail_from) {
        record.exit_code = 1;
        std::ofstream(spec.out.file) << "step 1\nCUDA error: out of memory\n";
      }
      out.records.push_back(record);
    }
    out.interrupted = runs == interrupt_at;
    return out;
  }
};

class SweepTest : public ::testing::Test {
 protected:
  core::Result<SweepResult> Go(FakeMachine& machine, bool retry = false, int cores = 8,
                               const char* spec = kSpec) {
    GridOptions options;
    options.folder = folder_.Path("out");
    options.retry = retry;
    options.run = [&](std::span<const RunSpec> specs, const WatchOptions& watch) {
      return machine(specs, watch);
    };
    for (int i = 0; i < cores; ++i) options.cpus.push_back(i);
    options.gpus.push_back({});
    options.gpus[0].name = "NVIDIA H200";
    return Sweep(*ReadSweepSpecText(spec, "s.toml"), options);
  }

  platform::TestFolder folder_;
};

TEST_F(SweepTest, FindsTheKneeOfEachModel) {
  FakeMachine machine;
  const auto result = Go(machine);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->Count(CellState::kDone), 8U);
  EXPECT_EQ(result->unit, ThroughputUnit::kSamples);
  ASSERT_THAT(result->plots, SizeIs(1));
  const SweepPlot& plot = result->plots[0];
  EXPECT_EQ(plot.axis, "cpus");
  EXPECT_EQ(plot.configuration, "1N1G");
  ASSERT_THAT(plot.lines, SizeIs(2));
  EXPECT_EQ(plot.lines[0].name, "alexnet");
  EXPECT_EQ(plot.lines[0].knee->at, 4);
  EXPECT_EQ(plot.lines[0].points[1].throughput, 20 * 64);
  EXPECT_EQ(plot.lines[0].points[3].cpu, 0.5);
  EXPECT_EQ(plot.lines[1].knee->at, 1);
  ASSERT_THAT(result->profiles, SizeIs(2));
  EXPECT_EQ(result->profiles[0].profile.steps_per_second, 40);
  EXPECT_THAT(result->profiles[0].profile.cpu_curve,
              ElementsAre(Pair(1, 0.25), Pair(2, 0.5), Pair(4, 1), Pair(8, 1)));
}

TEST_F(SweepTest, AFallWithinTheCellsUncertaintyIsNoise) {
  constexpr const char* kOne = R"(
name = "cores"
command = ["train", "alexnet"]
[axes]
cpus = [2, 3, 4, 8]
)";
  const auto fitted = [&](core::Ratio uncertainty) {
    FakeMachine machine;
    machine.at_most_cores = 0.9;
    machine.uncertainty = uncertainty;
    std::filesystem::remove_all(folder_.Path("out"));
    const auto result = Go(machine, false, 8, kOne);
    EXPECT_TRUE(result) << result.error().message;
    return std::pair(result->plots[0].lines[0].knee->fitted.back(),
                     result->profiles[0].profile.cpu_curve[1].second);
  };
  EXPECT_EQ(fitted(0.01), std::pair(36.0, 0.75));
  EXPECT_EQ(fitted(0.1), std::pair(38.0, 30.0 / 38));
}

TEST_F(SweepTest, ASecondStartRepeatsNothing) {
  FakeMachine first, second;
  first.interrupt_at = 4;
  const auto stopped = Go(first);
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_EQ(stopped->Count(CellState::kDone), 3U);
  EXPECT_EQ(stopped->Count(CellState::kWaiting), 5U);
  const auto resumed = Go(second);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(second.runs, 5);
  EXPECT_EQ(resumed->Count(CellState::kDone), 8U);
  EXPECT_EQ(resumed->plots[0].lines[0].knee->at, 4);
}

TEST_F(SweepTest, ATornLastLineIsRunAgain) {
  FakeMachine first, second, third;
  ASSERT_TRUE(Go(first));
  const std::string path = folder_.Path("out/cells.jsonl");
  std::string text = platform::TestFolder::Read(path);
  folder_.Write("out/cells.jsonl", text.substr(0, text.size() - 40));
  ASSERT_TRUE(Go(second));
  EXPECT_EQ(second.runs, 1);
  ASSERT_TRUE(Go(third));
  EXPECT_EQ(third.runs, 0);
}

TEST_F(SweepTest, AJournalThatIsNoneIsLeftAlone) {
  std::filesystem::create_directories(folder_.Path("out"));
  folder_.Write("out/cells.jsonl", "{\"my\": \"notes\"}\n");
  FakeMachine machine;
  const auto result = Go(machine);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("line 1 is no line of a journal"));
  EXPECT_EQ(platform::TestFolder::Read(folder_.Path("out/cells.jsonl")), "{\"my\": \"notes\"}\n");
}

TEST_F(SweepTest, WhatFailedIsSaidAndTriedAgainWhenAsked) {
  FakeMachine first, second, third;
  first.fail_from = 7;
  const auto result = Go(first);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->Count(CellState::kFailed), 2U);
  EXPECT_THAT(result->cells[6].why, HasSubstr("exit code 1, out of memory"));
  EXPECT_THAT(result->cells[6].why, HasSubstr("CUDA error: out of memory"));
  Go(second).value();
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(Go(third, true)->Count(CellState::kDone), 8U);
  EXPECT_EQ(third.runs, 2);
}

TEST_F(SweepTest, TheEndOfALongLastLineIsShown) {
  core::ProfileRecord record;
  record.exit_code = 2;
  const std::string path = "/srv/" + std::string(200, 'x') + "/bin/python3";
  const auto failure = FailureOf(
      record, folder_.Write("log", "step 1\n" + path +
                                       ": can't open file '/srv/zoo/plain.py': [Errno 2] No such "
                                       "file or directory\n"));
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->why, HasSubstr("exit code 2; its last words: '..."));
  EXPECT_THAT(failure->why, EndsWith("/bin/python3: can't open file '/srv/zoo/plain.py': [Errno 2] "
                                     "No such file or directory'"));
}

TEST_F(SweepTest, WhatIsDoneIsDoneOnALesserMachineToo) {
  FakeMachine large, small;
  ASSERT_TRUE(Go(large));
  GridOptions options;
  options.folder = folder_.Path("out");
  options.cpus = {0, 1};
  options.run = [&](std::span<const RunSpec> specs, const WatchOptions& watch) {
    return small(specs, watch);
  };
  const auto result = Sweep(*ReadSweepSpecText(kSpec, "s.toml"), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(small.runs, 0);
  EXPECT_EQ(result->Count(CellState::kDone), 8U);
  EXPECT_EQ(result->gpu, "NVIDIA H200");
  EXPECT_EQ(result->cores, 8);
  EXPECT_EQ(result->plots[0].lines[0].knee->at, 4);
}

TEST_F(SweepTest, LeavesOutWhatTheMachineHasNot) {
  FakeMachine machine;
  const auto result = Go(machine, false, 2);
  ASSERT_TRUE(result);
  EXPECT_EQ(machine.runs, 4);
  EXPECT_EQ(result->Count(CellState::kLeftOut), 4U);
  EXPECT_THAT(result->cells[3].why, HasSubstr("asks for 8 CPUs, and there are 2"));
}

TEST_F(SweepTest, AMachineThatHasNothingOfItIsSaid) {
  FakeMachine machine;
  const auto result = Go(machine, false, 8, "name='n'\ncommand=['x','y']\n[axes]\ngpus=[4]\n");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(result.error().message, HasSubstr("asks for 4 GPUs, and there are 1"));
}

TEST_F(SweepTest, ProfilesOfOneNameAreSaid) {
  FakeMachine machine;
  const auto result =
      Go(machine, false, 8, "name='n'\ncommand=['x','{lr}']\nworkload='w'\n[axes]\nlr=[0.1,0.2]\n");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->profiles, SizeIs(1));
  ASSERT_THAT(result->notes, SizeIs(1));
  EXPECT_THAT(result->notes[0], HasSubstr("put the axis that tells them apart"));
}

TEST_F(SweepTest, AppliesWhatTheAxesMean) {
  RunSpec seen;
  GridOptions options;
  options.folder = folder_.Path("out");
  options.cpus = {0, 1, 2, 3};
  options.gpus.resize(2);
  options.run = [&](std::span<const RunSpec> specs, const WatchOptions&) -> core::Result<Watched> {
    seen = specs[0];
    return Watched{{core::ProfileRecord{}}, false};
  };
  const auto spec = ReadSweepSpecText(
      "name='n'\ncommand=['x']\n[environment]\nMKL_NUM_THREADS=9\n"
      "[axes]\ncpus=2\nthreads=3\ngpus=2\nmemory='1GB'",
      "s.toml");
  ASSERT_TRUE(spec);
  ASSERT_TRUE(Sweep(*spec, options));
  ASSERT_TRUE(seen.cpus);
  EXPECT_THAT(*seen.cpus, SizeIs(2));
  EXPECT_EQ(seen.memory, core::Bytes(1e9));
  EXPECT_THAT(seen.environment, ::testing::Contains(Pair("OMP_NUM_THREADS", "3")));
  EXPECT_THAT(seen.environment, ::testing::Contains(Pair("CUDA_VISIBLE_DEVICES", "0,1")));
  // What the spec says itself stands last.
  EXPECT_THAT(seen.environment.back(), Pair("MKL_NUM_THREADS", "9"));
}

TEST(Journal, EntriesReadBackAsTheyWere) {
  JournalEntry entry{.key = "k", .label = "a \"b\"", .done = true};
  RunSummary run;
  run.profile.workload = {"w", 8, "bf16", 2};
  run.profile.steps_per_second = 1.0 / 3;
  run.profile.gpu_memory = core::Bytes(1e9);
  run.uncertainty = 0.01;
  run.exit_code = 0;
  run.notes = {"x"};
  entry.runs = {run, RunSummary{}};
  const auto back = ReadEntry(WriteEntry(entry));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, entry);
  EXPECT_FALSE(ReadEntry("{}"));
  EXPECT_FALSE(ReadEntry("[1"));
}

TEST(Journal, OneProgramAtATime) {
  const platform::TestFolder folder;
  const auto first = Journal::Open(folder.Path("o"));
  ASSERT_TRUE(first);
  const auto second = Journal::Open(folder.Path("o"));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another sharewell"));
}

}  // namespace
}  // namespace sharewell::measure
