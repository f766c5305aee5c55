#include "server/cluster_agents.h"

#include <gtest/gtest.h>

#include "collect/metrics/gpu_metrics.h"
#include "platform/files/test_folder.h"

namespace sharewell::server {
namespace {

constexpr core::UnixMillis kStart = 1'700'002'800'000;  // a round minute

TEST(ClusterAgents, AreSeenByWhatTheyWroteWithinTheLastMinute) {
  const platform::TestFolder folder;
  const std::string place = folder.Path("s.db");
  core::UnixMillis now = kStart;
  ClusterAgentsOptions options;
  options.open = [&] { return store::Open(place); };
  options.wall = [&] { return now; };
  options.every = core::Seconds(0);
  auto agent = store::Open(place);
  ASSERT_TRUE(agent) << agent.error().message;
  const auto writes = [&](const char* node) {
    core::Batch batch;
    batch.time = now;
    batch.readings.push_back({&collect::kGpuSm, "0", "", 0.5});
    ASSERT_TRUE((*agent)->Append(node, batch));
    ASSERT_TRUE((*agent)->Sync());
  };
  ClusterAgents agents(std::move(options));
  EXPECT_EQ(agents.On("n1"), std::nullopt) << "it was not looked at yet";
  writes("n1");
  agents.Look({"n1", "n2"});
  EXPECT_EQ(agents.On("n1"), true);
  EXPECT_EQ(agents.On("n2"), false);
  now += 61'000;
  writes("n2");
  agents.Look({"n1", "n2"});
  EXPECT_EQ(agents.On("n1"), false) << "it fell silent";
  EXPECT_EQ(agents.On("n2"), true);
}

TEST(ClusterAgents, OfAStoreThatDoesNotAnswerNothingIsSeen) {
  ClusterAgentsOptions options;
  options.open = []() -> core::Result<std::unique_ptr<store::Store>> {
    return core::FailedError("no route to it");
  };
  options.wall = [] { return kStart; };
  options.every = core::Seconds(0);
  ClusterAgents agents(std::move(options));
  agents.Look({"n2"});
  EXPECT_EQ(agents.On("n2"), std::nullopt);
}

}  // namespace
}  // namespace sharewell::server
