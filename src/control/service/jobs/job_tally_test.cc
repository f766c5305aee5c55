#include "control/service/jobs/job_tally.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

TEST(JobTally, N11_CountsEndsAndWaits) {
  JobTally tally;
  tally.CountEnd(core::Phase::kFinished);
  tally.CountEnd(core::Phase::kFailed);
  tally.CountEnd(core::Phase::kFailed);
  EXPECT_EQ(tally.finished, 1);
  EXPECT_EQ(tally.failed, 2);
  EXPECT_EQ(tally.cancelled, 0);
  for (const double wait : {0.0, 1.0, 1.5, 1e9}) tally.CountWait(core::Seconds(wait));
  EXPECT_EQ(tally.waits.front(), 2) << "a bound belongs to its bucket";
  EXPECT_EQ(tally.waits[1], 1);
  EXPECT_EQ(tally.waits.back(), 1);
  EXPECT_EQ(tally.waited.value, 1e9 + 2.5);
}

}  // namespace
}  // namespace sharewell::control
