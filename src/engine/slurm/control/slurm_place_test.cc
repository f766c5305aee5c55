#include "engine/slurm/control/slurm_place.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;

// Seen with 22.05: even a new comment gave such a job its priority back, and it started.
TEST(SlurmPlace, AJobThatSlurmHoldsForItsConstraintsIsHeldBeforeItIsChanged) {
  SlurmJob job;
  job.id = 8;
  job.reason = "BadConstraints";
  EXPECT_THAT(ClearLines(job), ElementsAre("uhold 8", "update JobId=8 TresPerNode="));
  JobNote note;
  note.put = JobNote::Put();
  note.put->nodes = {{"n2", {"g0"}}};
  const auto lines = PlaceLines(job, note, {.admin = true});
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->front(), "uhold 8");
  job.reason = "JobHeldUser";
  EXPECT_THAT(ClearLines(job), ElementsAre("update JobId=8 TresPerNode="));
}

}  // namespace
}  // namespace sharewell::engine
