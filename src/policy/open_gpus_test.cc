#include "policy/open_gpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testing/random_case.h"

namespace sharewell::policy {
namespace {

using core::GpuId;

std::vector<GpuId> ByLooking(const std::vector<double>& rooms, std::size_t count) {
  std::vector<GpuId> all;
  for (std::size_t g = 0; g < rooms.size(); ++g) {
    if (rooms[g] != OpenGpus::kClosed) all.emplace_back(g);
  }
  std::stable_sort(all.begin(), all.end(),
                   [&](GpuId a, GpuId b) { return rooms[a.index()] > rooms[b.index()]; });
  all.resize(std::min(all.size(), count));
  return all;
}

TEST(OpenGpus, NobodyIsOpenAtFirst) {
  const OpenGpus none(3);
  EXPECT_TRUE(none.Roomiest(2).empty());
  EXPECT_EQ(none.room(GpuId(1)), OpenGpus::kClosed);
}

// Fewer and more GPUs than are kept at hand, and each change asked about, and many at once.
TEST(OpenGpus, TheRoomiestAreThoseFoundByLookingAtAll) {
  fixtures::Dice dice(3);
  for (const int n : {1, 5, 64, 100, 400}) {
    OpenGpus open(static_cast<std::size_t>(n));
    std::vector<double> rooms(static_cast<std::size_t>(n), OpenGpus::kClosed);
    for (int step = 0; step < 3000; ++step) {
      const int changes = dice.Chance(0.1) ? dice.Between(1, 150) : 1;
      for (int i = 0; i < changes; ++i) {
        const auto gpu = static_cast<std::size_t>(dice.Between(0, n - 1));
        // Few values, so that ties are common.
        rooms[gpu] = dice.Chance(0.3) ? OpenGpus::kClosed : dice.Between(-3, 5) * 0.25;
        open.Set(GpuId(gpu), rooms[gpu]);
      }
      const auto count = static_cast<std::size_t>(dice.Between(0, dice.Chance(0.1) ? 200 : 16));
      ASSERT_EQ(open.Roomiest(count), ByLooking(rooms, count)) << n << " GPUs, step " << step;
    }
  }
}

}  // namespace
}  // namespace sharewell::policy
