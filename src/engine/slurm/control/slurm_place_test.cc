#include "engine/slurm/control/slurm_place.h"

#include <gmock/gmock.h>

#include "engine/slurm/control/slurm_submission.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// Slurm cannot change the shards of what runs: what has all of them nobody can ever join, as was
// seen on an H200 with two users who told nothing.
TEST(SlurmPlace, AJobThatOthersMayJoinLeavesThemShards) {
  const auto put = [](RunRequest request, int free) {
    request.nodes = {"n2"};
    request.gpus = {{0, "n2/g0", "H200"}};
    SlurmJob job;
    return PutOf(request, job, std::nullopt, {{"n2/g0", free}}, core::GiB(100));
  };
  RunRequest unknown, guest, known, alone;
  unknown.shares = guest.shares = known.shares = true;
  guest.guest_memory = guest.gpu_memory = core::GiB(97);
  known.expected_memory = core::GiB(60);
  EXPECT_EQ(put(unknown, 100)->shards, 50);
  EXPECT_EQ(put(guest, 50)->shards, 25);
  EXPECT_EQ(put(guest, 1)->shards, 1);
  EXPECT_EQ(put(known, 100)->shards, 60) << "by the memory that it needs";
  EXPECT_EQ(put(known, 25)->shards, 25) << "what is there: the plan knows that its memory fits";
  EXPECT_EQ(put(alone, 100)->shards, 100);
  EXPECT_THAT(put(alone, 99).error().message, HasSubstr("99 of 100 shards of its GPU are free"));
  EXPECT_FALSE(put(known, 0));
}

// `sbatch --wrap` and scripts from standard input: their job is named "wrap" or "sbatch", all
// alike.
TEST(SlurmSubmission, AScriptWithoutAPathIsKnownByWhatItSays) {
  const GpuModelNamed none = [](std::string_view) { return std::nullopt; };
  SlurmJob job;
  job.name = "wrap";
  const auto key = [&](const char* script) {
    JobNote note;
    note.ask.script = script;
    return core::WorkloadKey(SubmissionOf(job, note, none).asked);
  };
  EXPECT_EQ(key("0a"), key("0a"));
  EXPECT_NE(key("0a"), key("0b"));
  JobNote note;
  note.ask.script = "0a";
  const std::string by_text = SubmissionOf(job, note, none).asked.script;
  EXPECT_FALSE(by_text.empty()) << "its steps are recognised at once";
  job.script = "/home/ada/train.sh";
  EXPECT_NE(SubmissionOf(job, note, none).asked.script, by_text);
  EXPECT_EQ(SubmissionOf(job, note, none).asked.command.size(), 1U);
}

}  // namespace
}  // namespace sharewell::engine
