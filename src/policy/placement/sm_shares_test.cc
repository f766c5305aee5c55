#include "policy/placement/sm_shares.h"

#include <gmock/gmock.h>

#include "policy/placement/neighbours.h"
#include "policy/placement/share.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::GpuModelId;
using core::JobId;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;

// Long, wide kernels; and many short ones that depend on each other.
JobSpec Hog(double seconds = 1000) {
  return {.seconds = seconds, .busy = 0.99, .sm = 0.9, .kernel_time = 70e-6};
}
JobSpec Victim(double seconds = 1000) {
  return {.seconds = seconds, .busy = 0.91, .sm = 0.4, .kernel_time = 8e-6};
}

class SmSharesTest : public ::testing::Test {
 protected:
  SmSharesTest() : SmSharesTest(1) {}
  explicit SmSharesTest(int gpus) : s(ClusterBuilder().Node(gpus).Build()) {
    options.interference = &model;
    options.max_slowdown = 2;
  }
  // Of what the snapshot says now.
  template <class Ask>
  auto Asked(Ask ask) {
    const Ledger ledger(*s, options.max_jobs_on_gpu, false);
    std::vector<core::GpuId> changed;
    for (std::size_t g = 0; g < s->cluster().gpu_count(); ++g) changed.emplace_back(g);
    NeighbourScratch scratch;
    return ask(Context{*s, ledger, *sizing, options, changed, &scratch});
  }
  IdleShare OnIdle(JobId id) {
    return Asked([&](const Context& c) { return ShareOnIdle(c, s->job(id), GpuModelId(0)); });
  }
  std::vector<double> Shares(JobId id) {
    return Asked([&](const Context& c) {
      const auto shares = SharesFor(c, s->job(id), GpuModelId(0));
      return std::vector<double>(shares.begin(), shares.end());
    });
  }
  // Where the placement puts it; absent: nowhere now.
  std::optional<core::Allocation> Placed(JobId id) {
    const auto choice =
        Asked([&](const Context& c) { return NewSharePlacement()->Place(c, s->job(id)); });
    if (!std::holds_alternative<Chosen>(choice)) return std::nullopt;
    return std::get<Chosen>(choice).to;
  }

  interference::Interference model = fixtures::WithoutResidual();
  std::unique_ptr<Sizing> sizing = NewAskedSizing();
  Options options;
  SnapshotBuilder s;
};

TEST_F(SmSharesTest, WhoRunsOrInsistsHasOneShare) {
  EXPECT_THAT(Shares(s.Waiting(Hog())), ElementsAre(1, 0.8, 0.6, 0.4));
  EXPECT_THAT(Shares(s.Waiting({})), ElementsAre(1)) << "its kernels are not known";
  EXPECT_THAT(Shares(s.Waiting({.sm_share = 0.3})), ElementsAre(0.3));
  EXPECT_THAT(Shares(s.Waiting({.gpus = 2})), ElementsAre(1));
  EXPECT_THAT(Shares(s.Waiting({.exclusive = true})), ElementsAre(1));
  const JobId runs = s.Waiting(Hog());
  core::Allocation to = fixtures::OnGpus({0});
  to.sm_share = 0.6;
  s->Start(runs, to);
  EXPECT_THAT(Shares(runs), ElementsAre(0.6));
  options.sm_shares = false;
  EXPECT_THAT(Shares(s.Waiting(Hog())), ElementsAre(1));
  EXPECT_THAT(Shares(s.Waiting({.sm_share = 0.3})), ElementsAre(0.3));
}

TEST_F(SmSharesTest, WithNobodyWaitingAHogHasAllSms) {
  const JobId hog = s.Waiting(Hog());
  EXPECT_EQ(OnIdle(hog).sm_share, 1);
}

TEST_F(SmSharesTest, AHogLeavesRoomForWhoWaits) {
  const JobId hog = s.Waiting(Hog());
  const JobId victim = s.Waiting(Victim());
  const IdleShare share = OnIdle(hog);
  EXPECT_LT(share.sm_share, 1);
  EXPECT_EQ(share.room_for, victim);
  EXPECT_EQ(Placed(hog)->sm_share, share.sm_share);
  options.sm_shares = false;
  EXPECT_EQ(OnIdle(hog).sm_share, 1) << "nothing would keep it to less";
}

TEST_F(SmSharesTest, NotForWhoseKernelsAreNotKnown) {
  JobSpec hog = Hog(), victim = Victim();
  hog.kernel_time.reset();
  s.Waiting(Victim());
  EXPECT_EQ(OnIdle(s.Waiting(hog)).sm_share, 1);
  victim.kernel_time.reset();
  s.Running(victim, {0});
  const auto to = Placed(s.Waiting(Hog()));
  EXPECT_EQ(to ? to->sm_share : 1, 1);
}

TEST_F(SmSharesTest, NotForWhoWouldBreakABoundAllTheSame) {
  options.max_slowdown = 1.05;
  const JobId hog = s.Waiting(Hog());
  s.Waiting(Victim());
  EXPECT_EQ(OnIdle(hog).sm_share, 1);
}

TEST_F(SmSharesTest, NotWhereItWouldOutlastAllOthers) {
  const JobId hog = s.Waiting(Hog(10000));
  s.Waiting(Victim(100));
  EXPECT_EQ(OnIdle(hog).sm_share, 1);
}

TEST_F(SmSharesTest, WhatAUserInsistsOnIsKept) {
  JobSpec spec = Hog();
  spec.sm_share = 0.5;
  const JobId hog = s.Waiting(spec);
  EXPECT_EQ(OnIdle(hog).sm_share, 0.5);
  EXPECT_EQ(Placed(hog)->sm_share, 0.5);
}

TEST_F(SmSharesTest, BesideAVictimAHogIsNarrower) {
  s.Running(Victim(), {0});
  const JobId hog = s.Waiting(Hog());
  const auto to = Placed(hog);
  ASSERT_TRUE(to);
  EXPECT_LT(to->sm_share, 1);
}

// A share changes only by a restart.
TEST_F(SmSharesTest, BesideAHogWithAllSmsNothingIsPlacedThatWouldNeedItNarrower) {
  const JobId hog = s.Running(Hog(), {0});
  const JobId victim = s.Waiting(Victim(100));
  EXPECT_FALSE(Placed(victim));
  s->Stop(hog);
  core::Allocation to = fixtures::OnGpus({0});
  to.sm_share = 0.6;
  s->Start(hog, to);
  s->Observe(hog, core::Seconds(0), 0.7, core::Seconds(0));
  EXPECT_TRUE(Placed(victim));
}

class SmSharesOfTwo : public SmSharesTest {
 protected:
  SmSharesOfTwo() : SmSharesTest(2) {}
};

TEST_F(SmSharesOfTwo, NotWhileThereIsAnIdleGpuForEachWhoWaits) {
  const JobId hog = s.Waiting(Hog());
  s.Waiting(Victim());
  EXPECT_EQ(OnIdle(hog).sm_share, 1);
}

TEST_F(SmSharesOfTwo, OnTheLastIdleGpuByWhoIsLikelyToCome) {
  for (int i = 0; i < 10; ++i) {  // each ten seconds somebody came and was done at once
    s.At(10 * i);
    const JobId gone = s.Waiting(Victim(200));
    s->Start(gone, fixtures::OnGpus({0}));
    s->Finish(gone, core::JobState::kFinished);
  }
  s.At(100);
  const JobId hog = s.Waiting(Hog());
  EXPECT_EQ(OnIdle(hog).sm_share, 1) << "there is one more idle GPU";
  s.Running(Victim(200), {1});
  EXPECT_LT(OnIdle(hog).sm_share, 1);
  s.At(100000);
  EXPECT_EQ(OnIdle(hog).sm_share, 1) << "nobody has come for long";
}

}  // namespace
}  // namespace sharewell::policy
