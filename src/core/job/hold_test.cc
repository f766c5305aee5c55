// What holds a job and who cancelled it, on its record and in words.
#include "core/job/hold.h"

#include <gtest/gtest.h>

#include "core/job/job_record.h"

namespace sharewell::core {
namespace {

TEST(Hold, IsOnTheRecordWithItsWords) {
  JobRecord job;
  job.number = 17;
  SetHold(job, hold::AfterJob{3});
  EXPECT_EQ(job.phase, Phase::kHeld);
  EXPECT_EQ(job.reason, "waits for job 3");
  SetHold(job, std::nullopt);
  EXPECT_EQ(job.phase, Phase::kWaiting);
  EXPECT_EQ(job.hold, std::nullopt);
  EXPECT_EQ(job.reason, "") << "why it waits now is somebody else's to say";
}

TEST(Hold, SaysWhatToDo) {
  EXPECT_EQ(InWords(hold::ByUser{}, 17), "held: `sharewell release` lets it go");
  EXPECT_EQ(InWords(hold::Paused{"ann"}, 17), "paused by ann");
  EXPECT_EQ(InWords(hold::NoNodes{"9 GPUs"}, 17),
            "held until there are nodes for it: 9 GPUs; `sharewell release 17` tries it again, "
            "`sharewell cancel 17` ends it");
  EXPECT_EQ(InWords(hold::Refused{"too many jobs"}, 17),
            "held: too many jobs; `sharewell release 17` tries it again, `sharewell cancel 17` "
            "ends it");
  EXPECT_EQ(InWords(hold::LostRuns{3}, 17),
            "held, as the machine, its supervisor or its GPU went down under it 3 times in a row; "
            "`sharewell release 17` lets it try again");
}

TEST(Hold, SomeWordsSayThatItIsHeldAndOthersDoNot) {
  for (const Hold& hold :
       std::initializer_list<Hold>{hold::ByUser{}, hold::Paused{"ann"}, hold::EndedPaused{},
                                   hold::AfterJob{3}, hold::NoNodes{"x"}, hold::MachineChanged{"x"},
                                   hold::Refused{"x"}, hold::Untrusted{}, hold::LostRuns{3}}) {
    const std::string words = InWords(hold, 17);
    EXPECT_EQ(SaysHeld(hold), words.starts_with("held")) << words;
  }
}

TEST(Cancelled, EndsWhatWaitedOrWasHeld) {
  JobRecord job;
  SetHold(job, hold::AfterJob{3});
  EndCancelled(job, cancelled::ByJobBefore{3, cancelled::ByJobBefore::End::kFailed}, 5000);
  EXPECT_EQ(job.phase, Phase::kCancelled);
  EXPECT_EQ(job.hold, std::nullopt);
  EXPECT_EQ(job.ended, 5000);
  EXPECT_EQ(job.note, "job 3, which it was to come after, failed");
  EXPECT_EQ(InWords(cancelled::ByUser{"ann"}), "cancelled by ann");
  EXPECT_EQ(InWords(cancelled::ByManager{"cancelled in Slurm"}), "cancelled in Slurm");
  EXPECT_EQ(InWords(cancelled::ByJobBefore{3}),
            "job 3, which it was to come after, did not finish well");
}

}  // namespace
}  // namespace sharewell::core
