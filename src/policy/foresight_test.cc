#include "policy/foresight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/numbers/random.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;

constexpr std::size_t kNodesOfFour = 7;

// Each node's end, by looking at all of them.
std::vector<std::pair<double, std::size_t>> PlainEnds(SnapshotBuilder& world, int count) {
  std::vector<std::pair<double, std::size_t>> nodes;
  for (std::size_t n = 0; n < kNodesOfFour; ++n) {
    std::vector<double> ends;
    for (std::size_t k = 0; k < 4; ++k) {
      double end = 0;
      for (core::JobId id : world->residents(core::GpuId(4 * n + k)).jobs()) {
        end = std::max(end, world->remaining(world->job(id))->value);
      }
      ends.push_back(end);
    }
    std::sort(ends.begin(), ends.end());
    nodes.emplace_back(ends[static_cast<std::size_t>(count - 1)], n);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

TEST(Foresight, NodesPassedOverEarlyAreThoseThatALookAtAllWouldNotTake) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SnapshotBuilder world(ClusterBuilder().Nodes(kNodesOfFour, 4).Build());
    for (std::size_t g = 0; g < 4 * kNodesOfFour; ++g) {
      const auto hash = core::HashOf({seed, g});
      if (hash % 8 == 0) continue;  // idle
      // Few lengths, so that some nodes come free at the same time.
      world.Running(JobSpec{.seconds = 100.0 * static_cast<double>(1 + hash / 8 % 5)}, {g});
    }
    const Ledger ledger(*world, 4, false);
    for (const int gpus : {1, 2, 4, 8, 10, 28}) {
      const core::JobId id = world.Waiting(JobSpec{.gpus = gpus});
      const auto found = SoonestFree(*world, ledger, world->job(id), core::GpuModelId(0));
      const auto plain = PlainEnds(world, std::min(gpus, 4));
      const auto nodes = static_cast<std::size_t>((gpus + 3) / 4);
      ASSERT_TRUE(found) << seed << ", " << gpus;
      EXPECT_DOUBLE_EQ(found->in.value, plain[nodes - 1].first) << seed << ", " << gpus;
      ASSERT_EQ(found->nodes.size(), nodes) << seed << ", " << gpus;
      for (std::size_t i = 0; i < nodes; ++i) {
        EXPECT_EQ(found->nodes[i].index(), plain[i].second) << seed << ", " << gpus;
      }
    }
    const core::JobId more = world.Waiting(JobSpec{.gpus = 29});
    EXPECT_FALSE(SoonestFree(*world, ledger, world->job(more), core::GpuModelId(0)));
  }
}

}  // namespace
}  // namespace sharewell::policy
