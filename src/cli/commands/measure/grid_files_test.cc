// What sweep and colocate write is what the other commands read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/groups_file.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "report/measure/grid/colocate.h"
#include "report/measure/grid/sweep.h"

namespace sharewell::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

measure::RunSummary RunOf(const std::string& name, double rate) {
  measure::RunSummary run;
  run.profile.workload = {name, 64, "bf16", 4};
  run.profile.gpu = "NVIDIA H200";
  run.profile.steps_per_second = rate;
  run.profile.busy = 0.7;
  run.profile.gpu_memory = core::GiB(2);
  run.pcie_received = core::BytesPerSecond(1048576.0 * 10);
  return run;
}

TEST(GridFiles, ProfilesAreReadBack) {
  measure::RunSummary run = RunOf("tv:alexnet@224", 40);
  run.profile.cpu_curve = {{1, 1.0 / 3}, {2, 0.5}, {4, 1}};
  const auto read = catalogue::ReadProfilesText(report::ProfilesCsv({run}), "profiles.csv");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  const core::Profile& profile = read->front();
  EXPECT_EQ(profile.workload, run.profile.workload);
  EXPECT_EQ(profile.steps_per_second, 40);
  EXPECT_NEAR(*profile.busy, 0.7, 1e-12);
  EXPECT_EQ(profile.gpu_memory, core::GiB(2));
  EXPECT_EQ(profile.pcie, run.pcie_received);
  EXPECT_THAT(profile.cpu_curve,
              ElementsAre(Pair(1, ::testing::DoubleNear(1.0 / 3, 1e-4)), Pair(2, 0.5), Pair(4, 1)));
}

TEST(GridFiles, PairsAndTriplesAreReadBack) {
  measure::ColocateResult result;
  result.gpu = "NVIDIA H200";
  result.mps = true;
  for (const char* name : {"a", "b"}) {
    measure::AloneRun alone;
    alone.name = name;
    alone.state = measure::CellState::kDone;
    alone.summary = RunOf(name, 100);
    result.alone.push_back(alone);
  }
  for (const std::vector<std::size_t>& members :
       {std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{0, 0, 1}}) {
    measure::ColocatedSet set;
    set.members = members;
    set.state = measure::CellState::kDone;
    for (const std::size_t member : members) {
      set.runs.push_back(RunOf(result.alone[member].name, 50));
    }
    result.groups.push_back(set);
  }
  measure::ColocatedSet none;
  none.members = {1, 1};
  none.state = measure::CellState::kFailed;
  none.fits = false;
  result.groups.push_back(none);
  measure::CompareWithAlone(result);
  const auto files = report::GroupsCsv(result);
  ASSERT_EQ(files.size(), 2U);
  const auto pairs = catalogue::ReadPairsText(files[0].csv, files[0].name);
  ASSERT_TRUE(pairs) << pairs.error().message;
  ASSERT_EQ(pairs->pairs.size(), 2U);
  EXPECT_EQ(pairs->pairs[0].steps_per_second_b, 50);
  EXPECT_EQ(pairs->pairs[0].alone_b, 100);
  EXPECT_EQ(pairs->pairs[0].gpu, "NVIDIA H200");
  EXPECT_FALSE(pairs->pairs[1].fits);
  const auto triples = catalogue::ReadGroupsText(files[1].csv, files[1].name);
  ASSERT_TRUE(triples) << triples.error().message;
  EXPECT_THAT(triples->front().steps_per_second, ElementsAre(50, 50, 50));
}

}  // namespace
}  // namespace sharewell::cli
