#include "engine/slurm/control/slurm_hold.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SlurmHoldTest, OnlyAUsersHoldIsOurs) {
  SlurmQueueLine line;
  line.phase = SlurmPhase::kPending;
  for (const char* reason : {"JobHeldUser", "BadConstraints"}) {
    line.reason = reason;
    EXPECT_TRUE(WaitsHeldByUs(line)) << reason;
    EXPECT_FALSE(WaitsHeldByOthers(line)) << reason;
  }
  for (const char* reason : {"JobHeldAdmin", "launch failed requeued held", "SPECIAL_EXIT",
                             "job requeued in held state", "JobHoldMaxRequeue", "", "NewerWord"}) {
    line.reason = reason;
    EXPECT_FALSE(WaitsHeldByUs(line)) << reason;
    EXPECT_TRUE(WaitsHeldByOthers(line)) << reason;
  }
  line.priority = 7;
  EXPECT_FALSE(WaitsHeldByOthers(line));
  line.priority = 0;
  line.phase = SlurmPhase::kRunning;
  EXPECT_FALSE(WaitsHeldByOthers(line));
}

TEST(SlurmHoldTest, SaysWhoHoldsItAndWhatLetsItGo) {
  EXPECT_EQ(HoldInWords("JobHeldAdmin", "12_3"),
            "an admin of Slurm holds it; `scontrol release 12_3` lets it run with what it asked "
            "for, without Sharewell; or `scontrol uhold 12_3` gives it back to Sharewell");
  EXPECT_THAT(HoldInWords("job requeued in held state", "7"),
              AllOf(HasSubstr("requeuehold"), HasSubstr("after that `scontrol uhold 7`")));
  EXPECT_THAT(HoldInWords("NewerWord", "7"), HasSubstr("Slurm holds it (NewerWord)"));
}

}  // namespace
}  // namespace sharewell::engine
