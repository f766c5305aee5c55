#include "server/slurm_steps.h"

#include <gmock/gmock.h>

#include "collect/metrics/job_metrics.h"
#include "platform/files/test_folder.h"

namespace sharewell::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

core::Batch StepsAt(core::UnixMillis time, const std::string& job, double steps) {
  core::Batch batch;
  batch.time = time;
  batch.readings.push_back({&collect::kJobSteps, {}, job, steps});
  return batch;
}

TEST(StepsInStore, AreTheLatestOfThisRunOnAnyNode) {
  platform::TestFolder folder;
  const std::string place = folder.Path("s.db");
  auto agent = store::Open(place);
  ASSERT_TRUE(agent) << agent.error().message;
  ASSERT_TRUE((*agent)->Append("n1", StepsAt(10'000, "slurm/17", 900)));  // the run before
  ASSERT_TRUE((*agent)->Append("n1", StepsAt(50'000, "slurm/17", 30)));
  ASSERT_TRUE((*agent)->Append("n2", StepsAt(50'500, "slurm/17", 40)));
  ASSERT_TRUE((*agent)->Append("n1", StepsAt(21'000, "slurm/18", 5)));  // long ago
  ASSERT_TRUE((*agent)->Sync());
  std::vector<std::string> said;
  StepsInStore steps([&] { return store::Open(place); },
                     [&](const std::string& line) { said.push_back(line); });
  EXPECT_THAT(steps.Of({{17, 20'000}, {18, 20'000}, {19, 0}}, 51'000), ElementsAre(Pair(17, 40)));
  EXPECT_THAT(said, IsEmpty());
}

TEST(StepsInStore, AStoreThatIsAwaySaysNothingAndIsTriedAgain) {
  platform::TestFolder folder;
  bool away = true;
  std::vector<std::string> said;
  StepsInStore steps(
      [&]() -> core::Result<std::unique_ptr<store::Store>> {
        if (away) return core::FailedError("no route to it");
        return store::Open(folder.Path("s.db"));
      },
      [&](const std::string& line) { said.push_back(line); });
  EXPECT_THAT(steps.Of({{17, 0}}, 1'000), IsEmpty());
  EXPECT_THAT(steps.Of({{17, 0}}, 1'000), IsEmpty());
  away = false;
  EXPECT_THAT(steps.Of({{17, 0}}, 1'000), IsEmpty());
  EXPECT_EQ(said.size(), 2U) << "once each";
}

}  // namespace
}  // namespace sharewell::server
