#include "server/slurm_agents.h"

#include <gtest/gtest.h>

#include "collect/metrics/gpu_metrics.h"
#include "platform/files/test_folder.h"

namespace sharewell::server {
namespace {

constexpr core::UnixMillis kStart = 1'700'002'800'000;  // a round minute

TEST(SlurmAgents, AreSeenByWhatTheyWroteWithinTheLastMinute) {
  const platform::TestFolder folder;
  const std::string place = folder.Path("s.db");
  core::UnixMillis now = kStart;
  SlurmAgentsOptions options;
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
  SlurmAgents agents(std::move(options));
  EXPECT_FALSE(agents.On("n1")) << "it was not looked at yet";
  writes("n1");
  agents.Look({"n1", "n2"});
  EXPECT_TRUE(agents.On("n1"));
  EXPECT_FALSE(agents.On("n2"));
  now += 61'000;
  writes("n2");
  agents.Look({"n1", "n2"});
  EXPECT_FALSE(agents.On("n1")) << "it fell silent";
  EXPECT_TRUE(agents.On("n2"));
}

TEST(SlurmAgents, OfAStoreThatDoesNotAnswerNothingIsSeen) {
  SlurmAgentsOptions options;
  options.open = []() -> core::Result<std::unique_ptr<store::Store>> {
    return core::FailedError("no route to it");
  };
  options.wall = [] { return kStart; };
  options.every = core::Seconds(0);
  SlurmAgents agents(std::move(options));
  agents.Look({"n2"});
  EXPECT_FALSE(agents.On("n2"));
}

}  // namespace
}  // namespace sharewell::server
