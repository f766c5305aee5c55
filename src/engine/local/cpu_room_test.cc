#include "engine/local/cpu_room.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "platform/files/test_folder.h"
#include "platform/process/cpu_set.h"
#include "testing/random_case.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Two nodes of four cores with two threads each: CPUs 0-3 and 8-11 on node 0, 4-7 and 12-15 on 1.
CpuRoom::Layout TwoNodes(std::vector<int> gpu_nodes) {
  CpuRoom::Layout layout;
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    layout.cpus.push_back({cpu, core / 4, core / 4, core % 4});
  }
  layout.distance = {{0, {{0, 10}, {1, 21}}}, {1, {{0, 21}, {1, 10}}}};
  layout.gpu_nodes = std::move(gpu_nodes);
  return layout;
}

TEST(CpuRoom, GivesWhatIsNearTheGpuAndCoresBeforeThreads) {
  CpuRoom room(TwoNodes({1}));
  EXPECT_THAT(room.Take({1, 1}, 3, true, 1), ElementsAre(4, 5, 6));
  EXPECT_THAT(room.Take({2, 1}, 2, true, 1), ElementsAre(7, 12)) << "then a second thread";
  EXPECT_THAT(room.Take({3, 1}, 2, false, {}), ElementsAre(0, 1)) << "far from the GPU";
  EXPECT_THAT(room.Take({4, 1}, 5, true, 1), ElementsAre(2, 3, 13, 14, 15))
      << "what is left near it, then another node";
  room.Return({1, 1});
  EXPECT_THAT(room.Take({5, 1}, 1, true, 1), ElementsAre(7 - 3)) << "what was given back";
  EXPECT_THAT(room.Take({6, 1}, 0, true, 1), SizeIs(16)) << "not bounded";
}

TEST(CpuRoom, PartsOfACoreShareACpu) {
  CpuRoom room(TwoNodes({}));
  EXPECT_THAT(room.Take({1, 1}, 0.5, false, {}), ElementsAre(0));
  EXPECT_THAT(room.Take({2, 1}, 0.25, false, {}), ElementsAre(0));
  EXPECT_THAT(room.Take({3, 1}, 1.5, false, {}), SizeIs(2)) << "rounded up";
  const std::vector<int> rest = room.Take({4, 1}, 13, false, {});
  EXPECT_THAT(rest, SizeIs(13)) << "and the other CPUs are free";
  EXPECT_THAT(rest, ::testing::Not(::testing::Contains(0)));
}

TEST(CpuRoom, SharesTheLeastUsedWhereThereIsNoRoom) {
  CpuRoom room(TwoNodes({0}));
  room.Take({1, 1}, 16, true, 0);
  EXPECT_THAT(room.Take({2, 1}, 14, true, 0), SizeIs(14));
  EXPECT_THAT(room.Take({3, 1}, 2, true, 0), ElementsAre(14, 15)) << "those with one user";
  EXPECT_THAT(room.Take({4, 1}, 1000, true, 0), SizeIs(16));
}

TEST(CpuRoom, ResizesAndClaims) {
  CpuRoom room(TwoNodes({0}));
  room.Claim({1, 1}, {2, 3, 99}, 2, true, 0);
  EXPECT_THAT(room.Take({2, 1}, 2, true, 0), ElementsAre(0, 1));
  EXPECT_THAT(room.Resize({1, 1}, 3), ElementsAre(2, 3, 8)) << "keeps what it has";
  EXPECT_THAT(room.Resize({1, 1}, 1), ElementsAre(2));
  EXPECT_THAT(room.Take({3, 1}, 1, true, 0), ElementsAre(3));
  EXPECT_THAT(room.Resize({9, 1}, 1), SizeIs(16)) << "nobody's";
}

TEST(CpuRoom, WhatNobodyWasGivenIsSpare) {
  CpuRoom room(TwoNodes({0}));
  EXPECT_THAT(room.Spare(), SizeIs(16));
  room.Take({1, 1}, 3, true, 0);
  room.Take({2, 1}, 0.5, false, {});
  EXPECT_THAT(room.Own({1, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(room.Spare(), SizeIs(12)) << "part of a CPU is somebody's";
  room.Take({3, 1}, 0, true, 0);
  EXPECT_THAT(room.Own({3, 1}), SizeIs(0)) << "not bounded";
  room.Return({1, 1});
  EXPECT_THAT(room.Spare(), SizeIs(15));
  EXPECT_THAT(room.Own({1, 1}), SizeIs(0));
}

TEST(CpuRoom, RunsDoNotOverlapWhileThereIsRoom) {
  fixtures::Dice dice(3);
  for (int round = 0; round < 200; ++round) {
    CpuRoom room(TwoNodes({dice.Between(0, 1)}));
    std::map<int, std::vector<int>> taken;
    for (int run = 0; run < 30; ++run) {
      std::multiset<int> used;
      for (const auto& [id, cpus] : taken) used.insert(cpus.begin(), cpus.end());
      const int wanted = dice.Between(1, 5);
      if (!taken.empty() && (used.size() + 5 > 16 || dice.Chance(0.3))) {
        const auto victim =
            std::next(taken.begin(), dice.Between(0, static_cast<int>(taken.size()) - 1));
        if (dice.Chance(0.5)) {
          victim->second = room.Resize({victim->first, 1}, 1);
          ASSERT_THAT(victim->second, SizeIs(1));
        } else {
          room.Return({victim->first, 1});
          taken.erase(victim);
        }
        continue;
      }
      taken[run] = room.Take({run, 1}, wanted, dice.Chance(0.7), dice.Between(0, 1));
      ASSERT_THAT(taken[run], SizeIs(wanted));
      for (const int cpu : taken[run]) ASSERT_EQ(used.count(cpu), 0U) << "run " << run;
    }
  }
}

TEST(CpuRoom, ReadsTheMachine) {
  const CpuRoom here(CpuRoom::LayoutHere({}));
  EXPECT_EQ(here.all(), platform::AllowedCpus());

  platform::TestFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.Path(path)).parent_path());
    folder.Write(path, text);
  };
  write("sys/devices/system/node/online", "0-1\n");
  write("sys/devices/system/node/node0/distance", "10 32\n");
  write("sys/devices/system/node/node1/distance", "32 10\n");
  const auto layout = CpuRoom::LayoutHere({1}, folder.Path(""));
  EXPECT_EQ(layout.distance.at(0).at(1), 32);
}

}  // namespace
}  // namespace sharewell::engine
