#include "control/loop/host_pressure.h"

#include <gmock/gmock.h>

namespace sharewell::control {
namespace {

using core::JobId;
using core::NodeId;
using core::Seconds;

// A machine on which a training job gets less, the more CPU-only jobs do.
class HostPressureTest : public ::testing::Test {
 protected:
  // `speed`: of the training job, by what CPU-only jobs are held to. Their share in the end.
  template <class Speed>
  double Run(double seconds, Speed speed) {
    const double end = now_ + seconds;
    for (; now_ < end; now_ += 1) {
      const HostSufferer job{JobId(1), NodeId(0), 100 * speed(share_), profile_};
      for (const HostShare& told : pressure_.Look(Seconds(now_), {&job, 1}, cpu_jobs_)) {
        EXPECT_EQ(told.node, NodeId(0));
        EXPECT_EQ(told.because.valid(), told.share < 1);
        share_ = told.share;
        ++changes_;
      }
      rate_ = speed(share_);
    }
    return share_;
  }

  HostPressure pressure_;
  std::map<NodeId, std::vector<JobId>> cpu_jobs_ = {{NodeId(0), {JobId(2), JobId(3)}}};
  std::optional<double> profile_ = 100;
  double now_ = 0, share_ = 1, rate_ = 1;
  int changes_ = 0;
};

TEST_F(HostPressureTest, SlowsCpuOnlyJobsUntilTheTrainingJobHasItsRate) {
  Run(120, [](double share) { return 1 - 0.4 * share; });
  EXPECT_LE(share_, 0.25);
  EXPECT_GE(rate_, 0.9);
}

TEST_F(HostPressureTest, LeavesThemAloneWhereNobodyStarves) {
  Run(300, [](double) { return 0.97; });
  EXPECT_EQ(changes_, 0);
}

TEST_F(HostPressureTest, LetsThemLooseWhenItIsOver) {
  Run(60, [](double share) { return 1 - 0.4 * share; });
  ASSERT_LT(share_, 1);
  EXPECT_EQ(Run(400, [](double) { return 1.0; }), 1) << "the training job loads no data any more";
}

TEST_F(HostPressureTest, GivesUpWhereItDoesNotHelp) {
  Run(60, [](double) { return 0.7; });
  EXPECT_LT(share_, 1);
  EXPECT_EQ(Run(60, [](double) { return 0.7; }), 1) << "it was not them";
  const int before = changes_;
  EXPECT_EQ(Run(300, [](double) { return 0.7; }), 1);
  EXPECT_EQ(changes_, before) << "and it is not tried again";
  cpu_jobs_[NodeId(0)].push_back(JobId(9));
  Run(20, [](double) { return 0.7; });
  EXPECT_LT(share_, 1) << "a newcomer may be the one";
}

TEST_F(HostPressureTest, WithoutAProfileItsOwnBestTells) {
  profile_.reset();
  Run(30, [](double) { return 1.0; });
  EXPECT_EQ(changes_, 0);
  Run(40, [](double share) { return 1 - 0.4 * share; });
  EXPECT_LT(share_, 1);
}

TEST_F(HostPressureTest, NobodyIsHeldOnceTheTrainingJobHasGone) {
  Run(60, [](double share) { return 1 - 0.4 * share; });
  ASSERT_LT(share_, 1);
  const auto told = pressure_.Look(Seconds(now_), {}, cpu_jobs_);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].share, 1);
}

}  // namespace
}  // namespace sharewell::control
