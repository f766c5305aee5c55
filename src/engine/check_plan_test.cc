#include "engine/check_plan.h"

#include <gmock/gmock.h>

#include <limits>

#include "testing/builders.h"

namespace sharewell::engine {
namespace {

using core::JobId;
using core::Plan;
using fixtures::ClusterBuilder;
using fixtures::OnGpus;
using fixtures::OnNode;
using fixtures::SnapshotBuilder;
using ::testing::HasSubstr;

// Two GPUs of model A on a node with 8 cores, one of B on a node that states none. `runs` is on
// GPU 0 with 4 cores, `cpu` on node 0 with 1.
class CheckPlanTest : public ::testing::Test {
 protected:
  CheckPlanTest()
      : s(ClusterBuilder().Model("A").Model("B").Node(2).Cores(8).Node(1, 1).Build()),
        runs(s.Running({.name = "runs"}, {0}, 4)),
        cpu(s.RunningOnNode({.name = "cpu", .gpus = 0}, 0, 1)),
        waits(s.Waiting({.name = "waits"})),
        gang(s.Waiting({.name = "gang", .gpus = 2})) {}

  static void Start(Plan& into, JobId job, core::Allocation to) {
    into.starts.push_back({job, std::move(to), {}, {}});
  }
  static void Move(Plan& into, JobId job, core::Allocation to) {
    into.moves.push_back({job, std::move(to), false, {}});
  }
  std::string Breach(const Plan& of) {
    const auto ok = CheckPlan(*s, of);
    if (ok) return "";
    EXPECT_EQ(ok.error().kind, core::ErrorKind::kFailed);
    return ok.error().message;
  }

  SnapshotBuilder s;
  JobId runs, cpu, waits, gang;
  Plan plan;
};

TEST_F(CheckPlanTest, DoingNothingIsFine) { EXPECT_EQ(Breach(plan), ""); }

TEST_F(CheckPlanTest, SharingIsFineAndSoIsAnIdleGpu) {
  Start(plan, waits, OnGpus({0}, 3));
  EXPECT_EQ(Breach(plan), "");
  plan.starts[0].to = OnGpus({2}, 100);
  EXPECT_EQ(Breach(plan), "") << "cores that a node does not state are not counted";
}

TEST_F(CheckPlanTest, WhatAStopFreesAStartOfTheSamePlanMayHave) {
  const JobId alone = s.Waiting({.exclusive = true});
  Start(plan, alone, OnGpus({0}, 7));
  EXPECT_NE(Breach(plan), "");
  plan.stops.push_back({runs, {}});
  EXPECT_EQ(Breach(plan), "");
}

TEST_F(CheckPlanTest, TwoMayChangePlaces) {
  const JobId other = s.Running({.exclusive = true}, {1}, 3);
  Move(plan, runs, OnGpus({1}, 4));
  Move(plan, other, OnGpus({0}, 3));
  EXPECT_EQ(Breach(plan), "");
}

TEST_F(CheckPlanTest, SharesOfTheSmsAreInRangeAndThoseThatUsersInsistOnAreKept) {
  Start(plan, waits, OnGpus({0}, 3));
  for (const double wrong : {0.0, -0.5, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    plan.starts[0].to.sm_share = wrong;
    EXPECT_THAT(Breach(plan), HasSubstr("job waits: the plan gives")) << wrong;
  }
  plan.starts[0].to.sm_share = 0.4;
  EXPECT_EQ(Breach(plan), "");

  const JobId insists = s.Waiting({.name = "insists", .sm_share = 0.6});
  Plan other;
  Start(other, insists, OnGpus({1}, 1));
  EXPECT_EQ(Breach(other), "job insists: its user insists on 0.6 of the SMs, the plan gives 1");
  other.starts[0].to.sm_share = 0.6;
  EXPECT_EQ(Breach(other), "");

  Plan whole;
  Start(whole, gang, OnGpus({0, 1}, 1));
  whole.starts[0].to.sm_share = 0.5;
  EXPECT_THAT(Breach(whole), HasSubstr("a share of the SMs is for a job that may share"));
}

TEST_F(CheckPlanTest, AGuestHasMemoryAndMayShareItsOneGpu) {
  Start(plan, waits, OnGpus({0}, 3));
  plan.starts[0].to.guest_memory = core::GiB(3);
  EXPECT_EQ(Breach(plan), "");
  plan.starts[0].to.guest_memory = core::Bytes(0);
  EXPECT_EQ(Breach(plan), "job waits: the plan starts it as a guest with 0 bytes of GPU memory");

  Plan whole;
  Start(whole, gang, OnGpus({0, 1}, 1));
  whole.starts[0].to.guest_memory = core::GiB(3);
  EXPECT_THAT(Breach(whole), HasSubstr("and it may not be one"));
}

TEST_F(CheckPlanTest, AGangIsNotSplit) {
  Start(plan, gang, OnGpus({1}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("job gang needs 2 GPUs together, the plan gives 1"));
}

TEST_F(CheckPlanTest, GpusAreDistinctAndInOrder) {
  Start(plan, gang, OnGpus({1, 1}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("not distinct and in order"));
  plan.starts[0].to = OnGpus({2, 1}, 1);
  EXPECT_THAT(Breach(plan), HasSubstr("not distinct and in order"));
}

TEST_F(CheckPlanTest, GpusExist) {
  Start(plan, waits, OnGpus({3}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("job waits: no GPU 3"));
}

TEST_F(CheckPlanTest, CoresAreNotNegativeNorNothing) {
  Start(plan, waits, OnGpus({1}, -1));
  EXPECT_THAT(Breach(plan), HasSubstr("job waits: the plan gives -1 cores"));
  plan.starts[0].to.cores = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Breach(plan), HasSubstr("cores"));
}

TEST_F(CheckPlanTest, NodesAreNotGivenMoreCoresThanTheyHave) {
  Start(plan, waits, OnGpus({1}, 4));
  EXPECT_THAT(Breach(plan), HasSubstr("node n0 has 8 cores, the plan uses 9"));
  plan.starts[0].to.cores = 3;
  EXPECT_EQ(Breach(plan), "");
  plan.resizes.push_back({runs, 5, {}});
  EXPECT_THAT(Breach(plan), HasSubstr("the plan uses 9"));
  plan.resizes[0].cores = 2;
  EXPECT_EQ(Breach(plan), "");
}

TEST_F(CheckPlanTest, AGangsCoresCountOnEachNodeAsItsGpusDo) {
  Start(plan, gang, OnGpus({1, 2}, 6));
  EXPECT_EQ(Breach(plan), "") << "3 of the 6 on node 0";
  plan.starts[0].to.cores = 8;
  EXPECT_THAT(Breach(plan), HasSubstr("the plan uses 9"));
}

TEST_F(CheckPlanTest, ACpuOnlyJobHasANode) {
  const JobId other = s.Waiting({.name = "other", .gpus = 0});
  Start(plan, other, OnNode(1, 4));
  EXPECT_EQ(Breach(plan), "");
  plan.starts[0].to.node = core::NodeId();
  EXPECT_THAT(Breach(plan), HasSubstr("CPU-only job other: the plan names no node"));
  plan.starts[0].to.node = core::NodeId(9);
  EXPECT_THAT(Breach(plan), HasSubstr("CPU-only job other: the plan names no node"));
}

TEST_F(CheckPlanTest, AJobRunsOnModelsItMayUse) {
  const JobId picky = s.Waiting({.name = "picky", .only = {1}});
  Start(plan, picky, OnGpus({1}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("job picky may not run on A"));
  plan.starts[0].to = OnGpus({2}, 1);
  EXPECT_EQ(Breach(plan), "");
}

TEST_F(CheckPlanTest, ExclusiveJobsAndThoseThatRanOutOfMemoryAreAlone) {
  const JobId alone = s.Waiting({.name = "alone", .exclusive = true});
  Start(plan, alone, OnGpus({0}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("GPU 0: job alone must be alone"));
  plan = {};
  s->CountOom(runs);
  Start(plan, waits, OnGpus({0}, 1));
  EXPECT_THAT(Breach(plan), HasSubstr("GPU 0: job runs must be alone"));
}

TEST_F(CheckPlanTest, AGpuHoldsEightAtMost) {
  for (int i = 0; i < core::kMaxJobsOnGpu; ++i) Start(plan, s.Waiting({}), OnGpus({2}, 0));
  EXPECT_EQ(Breach(plan), "");
  Start(plan, s.Waiting({}), OnGpus({2}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("GPU 2 is over-full"));
}

TEST_F(CheckPlanTest, OnlyJobsInTheRightStateAreNamed) {
  plan.stops.push_back({waits, {}});
  EXPECT_THAT(Breach(plan), HasSubstr("stop of a job that does not run"));
  plan = {};
  Move(plan, waits, OnGpus({1}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("move of a job that does not run"));
  plan = {};
  plan.resizes.push_back({waits, 1, {}});
  EXPECT_THAT(Breach(plan), HasSubstr("resize of a job that does not run"));
  plan = {};
  Start(plan, runs, OnGpus({1}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("start of a job that does not wait"));
  plan = {};
  plan.infeasible.push_back(runs);
  EXPECT_THAT(Breach(plan), HasSubstr("dropping a job that does not wait"));
  plan = {};
  Start(plan, JobId(99), OnGpus({1}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("start of a job that does not wait"));
}

TEST_F(CheckPlanTest, NobodyIsNamedTwice) {
  plan.stops = {{runs, {}}, {runs, {}}};
  EXPECT_THAT(Breach(plan), HasSubstr("stop of a job that does not run"));
  plan = {};
  plan.stops.push_back({runs, {}});
  Move(plan, runs, OnGpus({1}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("move of a job that does not run"));
  plan = {};
  Start(plan, waits, OnGpus({1}, 0));
  Start(plan, waits, OnGpus({2}, 0));
  EXPECT_THAT(Breach(plan), HasSubstr("start of a job that does not wait"));
  plan = {};
  Start(plan, waits, OnGpus({1}, 0));
  plan.infeasible.push_back(waits);
  EXPECT_THAT(Breach(plan), HasSubstr("dropping a job that does not wait"));
}

TEST_F(CheckPlanTest, OnlyRunningCpuOnlyJobsAreThrottledToAShare) {
  plan.throttles.push_back({cpu, 0.5, {}});
  EXPECT_EQ(Breach(plan), "");
  plan.throttles[0].share = 0;
  EXPECT_THAT(Breach(plan), HasSubstr("throttle to 0"));
  plan.throttles[0].share = 1.5;
  EXPECT_THAT(Breach(plan), HasSubstr("throttle to 1.5"));
  plan.throttles[0] = {runs, 0.5, {}};
  EXPECT_THAT(Breach(plan), HasSubstr("throttle of a job that is not a running CPU-only job"));
}

TEST_F(CheckPlanTest, AResizeToLessThanNothingIsRefused) {
  plan.resizes.push_back({runs, -2, {}});
  EXPECT_THAT(Breach(plan), HasSubstr("resize to -2 cores"));
}

TEST(CheckPlanMemory, HostMemoryIsNeverOvercommitted) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Memory(64).Node(1).Build());
  const JobId runs = s.Running({.host_gib = 30}, {0});
  const JobId waits = s.Waiting({.asked_host_gib = 40});
  Plan plan;
  plan.starts.push_back({waits, OnGpus({1}, 0), {}, {}});
  const auto breach = CheckPlan(*s, plan);
  ASSERT_FALSE(breach);
  EXPECT_THAT(breach.error().message, HasSubstr("node n0 has 68719476736 bytes of host memory"));
  plan.stops.push_back({runs, {}});
  EXPECT_TRUE(CheckPlan(*s, plan)) << "what the stop frees";
  plan.stops.clear();
  plan.moves.push_back({runs, OnGpus({2}, 0), false, {}});
  EXPECT_TRUE(CheckPlan(*s, plan)) << "the other node does not state its memory";
}

TEST(CheckPlanMemory, WhoNeedsNoneMayStartWhereSomebodyWasSeenToNeedMoreThanThereIs) {
  SnapshotBuilder s(ClusterBuilder().Node(3).Memory(64).Build());
  s.Running({.host_gib = 40}, {0});
  const JobId grows = s.Running({.host_gib = 10}, {1});
  core::Estimate more = s->job(grows).estimate;
  more.on[0].demand.host_memory = core::GiB(50);
  s->SetEstimate(grows, more, true);
  Plan plan;
  plan.starts.push_back({s.Waiting({}), OnGpus({2}, 0), {}, {}});
  EXPECT_TRUE(CheckPlan(*s, plan));
  plan.starts.push_back({s.Waiting({.host_gib = 1}), OnGpus({2}, 0), {}, {}});
  EXPECT_FALSE(CheckPlan(*s, plan));
}

}  // namespace
}  // namespace sharewell::engine
