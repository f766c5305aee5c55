#include "policy/nearest_gpus.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace sharewell::policy {
namespace {

using ::testing::ElementsAre;

core::GpuIslands Islands(std::string_view text, int gpus) {
  return core::GpuIslands::Parse(text, gpus).value();
}

TEST(NearestGpusTest, TakesOneIslandWhereOneHasRoom) {
  const auto islands = Islands("0,2|1,3", 4);
  EXPECT_THAT(NearestGpus(islands, {0, 1, 2, 3}, 2).gpus, ElementsAre(0, 2));
  EXPECT_THAT(NearestGpus(islands, {0, 1, 3}, 2).gpus, ElementsAre(1, 3));
  EXPECT_EQ(NearestGpus(islands, {0, 1, 3}, 2).spread, 0);
  EXPECT_EQ(NearestGpus(islands, {0, 1}, 2).spread, 1);
}

TEST(NearestGpusTest, BreaksUpNoIslandThatIsWhole) {
  // GPU 1 is busy: a job of one GPU goes beside it, so that a pair can still have 2 and 3.
  EXPECT_THAT(NearestGpus(Islands("0,1|2,3", 4), {0, 2, 3}, 1).gpus, ElementsAre(0));
  EXPECT_THAT(NearestGpus(Islands("0,1|2,3", 4), {0, 1, 2}, 1).gpus, ElementsAre(2));
  // On the processor that has three left, not on the one that has four.
  EXPECT_THAT(NearestGpus(Islands("0-3|4-7", 8), {0, 1, 2, 3, 5, 6, 7}, 2).gpus, ElementsAre(5, 6));
}

TEST(NearestGpusTest, TakesTheNearestLevelFirst) {
  const auto islands = Islands("0,1|2,3|4,5|6,7/0-3|4-7", 8);
  EXPECT_THAT(NearestGpus(islands, {1, 3, 4, 6, 7}, 2).gpus, ElementsAre(6, 7));
  EXPECT_THAT(NearestGpus(islands, {1, 3, 4, 6}, 2).gpus, ElementsAre(1, 3));
  EXPECT_THAT(NearestGpus(islands, {0, 1, 3, 4, 5, 6, 7}, 4).gpus, ElementsAre(4, 5, 6, 7));
}

// All sets of `count`, the nearest spread.
int LeastSpread(const core::GpuIslands& islands, const std::vector<int>& idle, int count) {
  int least = 1 << 20;
  for (unsigned set = 0; set < (1U << idle.size()); ++set) {
    std::vector<int> gpus;
    for (std::size_t i = 0; i < idle.size(); ++i) {
      if ((set >> i & 1U) != 0) gpus.push_back(idle[i]);
    }
    if (static_cast<int>(gpus.size()) != count) continue;
    int spread = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) spread += islands.Distance(gpus[i], gpus[j]);
    }
    least = std::min(least, spread);
  }
  return least;
}

TEST(NearestGpusTest, IsTheNearestSetOfAllOnTheMachinesThatThereAre) {
  for (const char* text :
       {"0,1|2,3|4,5|6,7", "0-3|4-7", "0,1|2,3|4,5|6,7/0-3|4-7", "0,4|1,5|2,6|3,7"}) {
    const auto islands = Islands(text, 8);
    for (unsigned set = 1; set < 256; ++set) {
      std::vector<int> idle;
      for (int gpu = 0; gpu < 8; ++gpu) {
        if ((set >> gpu & 1U) != 0) idle.push_back(gpu);
      }
      for (int count = 1; count <= static_cast<int>(idle.size()); ++count) {
        const NearGpus found = NearestGpus(islands, idle, count);
        ASSERT_EQ(static_cast<int>(found.gpus.size()), count);
        EXPECT_TRUE(std::includes(idle.begin(), idle.end(), found.gpus.begin(), found.gpus.end()));
        EXPECT_EQ(found.spread, LeastSpread(islands, idle, count))
            << text << ", idle " << set << ", " << count << " of them";
      }
    }
  }
}

}  // namespace
}  // namespace sharewell::policy
