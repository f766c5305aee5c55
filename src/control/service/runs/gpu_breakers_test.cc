#include "control/service/runs/gpu_breakers.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/job_records.h"

namespace sharewell::control {
namespace {

using core::JobRecord;
using core::Phase;

JobRecord Of(std::int64_t number, const char* user, const char* program,
             Phase phase = Phase::kWaiting) {
  JobRecord job = testing::PlainJob(number, user, phase);
  job.asked.command = {program};
  return job;
}

JobRecord Over(std::int64_t number, Phase phase, core::UnixMillis ended, bool broke) {
  JobRecord job = Of(number, "ann", "train", phase);
  job.ended = ended;
  job.broke_gpu = broke;
  return job;
}

TEST(GpuBreakers, ItsUsersRunsOfTheSameAreAloneUntilOneHasFinishedWell) {
  GpuBreakers breakers;
  EXPECT_FALSE(breakers.BrokenBy(Of(1, "ann", "train")));
  EXPECT_FALSE(breakers.TakeEnd(Of(1, "ann", "train", Phase::kFinished), false));
  EXPECT_TRUE(breakers.TakeEnd(Of(2, "ann", "train"), true));
  EXPECT_FALSE(breakers.TakeEnd(Of(3, "ann", "train"), true)) << "it is known";
  EXPECT_EQ(breakers.BrokenBy(Of(4, "ann", "train")), 2);
  EXPECT_FALSE(breakers.BrokenBy(Of(5, "bob", "train"))) << "another user's";
  EXPECT_FALSE(breakers.BrokenBy(Of(6, "ann", "serve")));
  EXPECT_FALSE(breakers.TakeEnd(Of(4, "ann", "train", Phase::kFailed), false));
  EXPECT_FALSE(breakers.TakeEnd(Of(5, "bob", "train", Phase::kFinished), false));
  EXPECT_TRUE(breakers.TakeEnd(Of(7, "ann", "train", Phase::kFinished), false));
  EXPECT_FALSE(breakers.BrokenBy(Of(8, "ann", "train")));
}

TEST(GpuBreakers, AServerFindsThemInItsJobs) {
  using Jobs = std::vector<JobRecord>;
  const auto broken = [](const Jobs& over, const Jobs& live) {
    GpuBreakers breakers;
    breakers.Restore(over, live);
    return breakers.BrokenBy(Of(99, "ann", "train"));
  };
  EXPECT_FALSE(broken({}, {}));
  EXPECT_EQ(broken({Over(1, Phase::kFailed, 100, true)}, {}), 1);
  EXPECT_FALSE(broken({Over(1, Phase::kFinished, 100, true)}, {})) << "alone, it came to its end";
  const JobRecord well = Over(2, Phase::kFinished, 200, false);
  EXPECT_FALSE(broken({well, Over(1, Phase::kFailed, 100, true)}, {}));
  EXPECT_EQ(broken({well, Over(3, Phase::kFailed, 300, true)}, {}), 3) << "after that";
  JobRecord waits = Of(4, "ann", "train");
  waits.broke_gpu = true;
  EXPECT_EQ(broken({well}, {waits}), 4) << "it is still to be tried alone";
}

TEST(GpuBreakers, OneKindIsOfOneUserAndOneCommand) {
  EXPECT_TRUE(AreOfOneKind(Of(1, "ann", "train"), Of(2, "ann", "train")));
  EXPECT_FALSE(AreOfOneKind(Of(1, "ann", "train"), Of(2, "bob", "train")));
  EXPECT_FALSE(AreOfOneKind(Of(1, "ann", "train"), Of(2, "ann", "serve")));
}

}  // namespace
}  // namespace sharewell::control
