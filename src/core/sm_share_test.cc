#include "core/sm_share.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(SmShare, IsKeptForAJobOnOneGpuThatMayShareIt) {
  JobView view;
  EXPECT_EQ(InsistedShare(view), std::nullopt);
  EXPECT_EQ(StandingShare(view), 1);
  view.job.sm_share = 0.6;
  EXPECT_EQ(InsistedShare(view), 0.6);
  EXPECT_EQ(StandingShare(view), 0.6);
  for (JobView alone : {view, view, view}) {
    static int which = 0;
    switch (which++) {
      case 0:
        alone.job.gpus = 2;
        break;
      case 1:
        alone.job.exclusive = true;
        break;
      default:
        alone.ooms = 1;
    }
    EXPECT_EQ(InsistedShare(alone), std::nullopt) << which;
  }
}

TEST(SmShare, HoldsWhileTheJobRuns) {
  JobView view;
  view.allocation.sm_share = 0.4;  // of its last run
  EXPECT_EQ(StandingShare(view), 1);
  view.state = JobState::kRunning;
  EXPECT_EQ(StandingShare(view), 0.4);
}

TEST(SmShare, IsToldInWords) {
  EXPECT_EQ(ShareInWords(1, false, "12"), "");
  EXPECT_EQ(ShareInWords(0.8, false, "job 12"),
            "at most 80 % of the SMs, so that short kernels of job 12 find room");
  EXPECT_EQ(ShareInWords(0.4, false, ""),
            "at most 40 % of the SMs, so that short kernels of whoever comes find room");
  EXPECT_EQ(ShareInWords(0.125, true, "job 12"), "at most 12.5 % of the SMs, as its user asked");
}

}  // namespace
}  // namespace sharewell::core
