// How many cores a job is given, and how CPU-only jobs live beside training jobs.
#include "policy/sizing/sizing.h"

#include <gmock/gmock.h>

#include "policy/registry.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::GpuModelId;
using core::JobId;
using core::NodeId;
using core::Plan;
using core::Reason;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::OnNode;
using fixtures::SnapshotBuilder;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace reason = core::reason;

core::Cluster Node(int gpus, double cores) {
  return ClusterBuilder().Node(gpus).Cores(cores).Build();
}

double CoresAGpu(const Sizing& sizing, core::Cluster cluster, const JobSpec& spec, int nodes = 1) {
  SnapshotBuilder s(std::move(cluster));
  return sizing.CoresAGpu(*s, s->job(s.Waiting(spec)), GpuModelId(0), nodes);
}

Plan Decide(SnapshotBuilder& s, const std::string& name) {
  static const auto model = fixtures::WithoutResidual();
  Options options;
  options.interference = &model;
  const auto policy = NewPolicy(name, options).value();
  const auto memo = policy->NewMemo();
  return policy->Decide(*s, {}, *memo);
}

TEST(Asked, GivesWhatWasAskedSpreadOverItsGpus) {
  EXPECT_EQ(CoresAGpu(*NewAskedSizing(), Node(4, 32), {.gpus = 2, .cores = 6}), 3);
}

TEST(Asked, ElseTheNodesCoresSharedOutOverItsGpus) {
  EXPECT_EQ(CoresAGpu(*NewAskedSizing(), Node(4, 30), {.wants_cores = 2}), 7);
}

TEST(Asked, ElseWhatTheJobCanUse) {
  EXPECT_EQ(CoresAGpu(*NewAskedSizing(), ClusterBuilder().Node(4).Build(), {.wants_cores = 2.2}),
            3);
}

TEST(Asked, NeverNoneOnANodeWithFewerCoresThanGpus) {
  EXPECT_GT(CoresAGpu(*NewAskedSizing(), Node(4, 2), {.wants_cores = 1}), 0)
      << "a job without cores would never end";
}

TEST(Slim, GivesTheCoresAJobCanUseAndNoMore) {
  const auto slim = NewSlimSizing();
  EXPECT_EQ(CoresAGpu(*slim, Node(4, 32), {.wants_cores = 2.2, .cores = 16}), 3);
  EXPECT_EQ(CoresAGpu(*slim, Node(4, 32), {.wants_cores = 0}), 1);
  EXPECT_EQ(
      CoresAGpu(*slim, Node(4, 32), {.wants_cores = 9, .cpu_curve = {{1, 0.5}, {2, 0.99}, {8, 1}}}),
      2)
      << "98 % of its throughput is enough";
}

TEST(Slim, NeverGivesMoreThanAskedForWhereAManagerCountsThem) {
  SnapshotBuilder s(Node(4, 32));
  core::Job job = s->job(s.Waiting({.wants_cores = 9, .cores = 2})).job;
  const core::Estimate estimate = s->job(job.id).estimate;
  job.id = JobId(s->job_count());
  job.cores_fixed = true;
  s->Submit(job, estimate);
  EXPECT_EQ(NewSlimSizing()->CoresAGpu(*s, s->job(job.id), GpuModelId(0), 1), 2);
  EXPECT_EQ(NewSlimSizing()->CoresAGpu(*s, s->job(JobId(0)), GpuModelId(0), 1), 9);
}

TEST(Slim, S5AJobOfWhichNothingIsKnownKeepsTheCoresThatItAskedFor) {
  SnapshotBuilder s(ClusterBuilder().Nodes(2, 1).Build());
  const JobId first = s.Waiting({.gpus = 2, .wants_cores = 3, .cores = 16});
  core::Job job = s->job(first).job;
  core::Estimate estimate = s->job(first).estimate;
  estimate.sources = core::Sources::All(core::Source::kAssumed);
  job.id = JobId(s->job_count());
  job.cores_fixed = true;
  s->Submit(job, estimate);
  EXPECT_EQ(NewSlimSizing()->CoresAGpu(*s, s->job(job.id), GpuModelId(0), 2), 8);
  EXPECT_EQ(NewSlimSizing()->CoresAGpu(*s, s->job(first), GpuModelId(0), 2), 2);
}

TEST(Slim, SizesOnTheUpperBound) {
  SnapshotBuilder s(Node(1, 32));
  const JobId id = s.Waiting({.wants_cores = 4});
  core::Estimate estimate = s->job(id).estimate;
  estimate.cores_upper = 1.4;
  s->SetEstimate(id, estimate, false);
  EXPECT_EQ(NewSlimSizing()->CoresAGpu(*s, s->job(id), GpuModelId(0), 1), 6);
}

TEST(Slim, FitsOnTheNode) {
  EXPECT_EQ(CoresAGpu(*NewSlimSizing(), Node(4, 8), {.wants_cores = 30}), 8);
  EXPECT_EQ(CoresAGpu(*NewSlimSizing(), Node(4, 8), {.gpus = 4, .wants_cores = 30}), 2);
}

TEST(Slim, GangsOverNodesDoWithTwoCoresANode) {
  EXPECT_EQ(CoresAGpu(*NewSlimSizing(), ClusterBuilder().Nodes(2, 4).Build(),
                      {.gpus = 8, .wants_cores = 6}, 2),
            0.5);
}

TEST(Slim, LetsMoreJobsOntoANode) {
  const auto started = [](const char* name) {
    SnapshotBuilder s(Node(2, 8));
    for (int k = 0; k < 3; ++k) s.Waiting({.busy = 0.3, .wants_cores = 2, .cores = 4});
    return Decide(s, name).starts.size();
  };
  EXPECT_EQ(started("fifo+pack+asked"), 2U);
  EXPECT_EQ(started("fifo+pack+slim"), 3U);
}

TEST(CpuOnly, TakesTheNodeWithTheMostCoresLeftAfterTrainingJobs) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Cores(8).Node(1).Cores(8).Build());
  s.Running({.wants_cores = 4}, {1}, 4);
  const JobId training = s.Waiting({.cores = 2});
  const JobId cpu = s.Waiting({.gpus = 0, .cores = 5});
  const Plan plan = Decide(s, "slot");
  ASSERT_THAT(plan.starts, SizeIs(2));
  EXPECT_EQ(plan.starts[0].job, training);
  EXPECT_EQ(plan.starts[1].job, cpu);
  EXPECT_EQ(plan.starts[1].to, OnNode(0, 5));
  EXPECT_EQ(plan.starts[1].reason, Reason(reason::FillsCores{}));
}

TEST(CpuOnly, WaitsWhereNoNodeHasTheCores) {
  SnapshotBuilder s(Node(1, 8));
  s.Running({}, {0}, 6);
  s.Waiting({.gpus = 0, .cores = 4});
  EXPECT_THAT(Decide(s, "slot").starts, IsEmpty());
}

TEST(CpuOnly, UsersTakeTurnsByTheCoresTheyHoldWhereTheOrderIsByUser) {
  SnapshotBuilder s(Node(1, 8));
  s.RunningOnNode({.gpus = 0, .cores = 2, .user = 0}, 0, 2);
  for (int k = 0; k < 3; ++k) s.Waiting({.gpus = 0, .cores = 2, .user = 0});
  const JobId other = s.Waiting({.submit = 5, .gpus = 0, .cores = 2, .user = 1});
  EXPECT_EQ(Decide(s, "sharewell").starts.front().job, other);
  EXPECT_EQ(Decide(s, "slot").starts.front().job, JobId(1)) << "by submission";
}

TEST(CpuOnly, N3_SaysWhatItWaitsFor) {
  SnapshotBuilder s(Node(1, 8));
  s.Running({}, {0}, 6);
  const JobId id = s.Waiting({.gpus = 0, .cores = 4});
  const Plan plan = Decide(s, "slot");
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].job, id);
  EXPECT_EQ(plan.waits[0].reason, Reason(reason::NoCores{4, 2, NodeId(0)}));
}

TEST(Short, N3_OfCoresOnTheNodeThatHasTheIdleGpu) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(4).Node(1).Cores(16).Build());
  s.Running({}, {0}, 3);
  s.Running({}, {2}, 1);
  s.Waiting({.cores = 4, .exclusive = true});
  const Plan plan = Decide(s, "slot");
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].reason, Reason(reason::NoCores{4, 1, NodeId(0)}))
      << "the other node has cores, and no GPU";
}

TEST(Short, N3_OfIdleGpus) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Build());
  s.Running({}, {0});
  s.Waiting({.gpus = 4});
  const Plan plan = Decide(s, "sharewell");
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].reason, Reason(reason::NoIdleGpu{4, 3}));
}

TEST(Short, N3_OfAnIdleGpuWhereNothingIsKnownOfWhatItNeeds) {
  SnapshotBuilder s(Node(1, 16));
  s.Running({}, {0}, 16);
  s.Waiting({.known = false, .alone_until_known = true});
  const Plan plan = Decide(s, "sharewell");
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].reason, Reason(reason::NoIdleGpu{1, 0})) << "cores would not help it";
}

TEST(CpuOnly, GivesItsCoresToATrainingJobUnderSlimOnly) {
  for (const bool slim : {false, true}) {
    SnapshotBuilder s(Node(1, 8));
    const JobId cpu = s.RunningOnNode({.gpus = 0, .cores = 6}, 0, 6);
    const JobId training = s.Waiting({.wants_cores = 4, .cores = 4});
    const Plan plan = Decide(s, slim ? "fifo+slim" : "fifo");
    if (!slim) {
      EXPECT_TRUE(plan.empty());
      continue;
    }
    ASSERT_THAT(plan.stops, SizeIs(1));
    EXPECT_EQ(plan.stops[0].job, cpu);
    ASSERT_THAT(plan.starts, SizeIs(1));
    EXPECT_EQ(plan.starts[0].job, training);
  }
}

TEST(CpuOnly, IsSlowedWhileATrainingJobStarvesForMemoryBandwidth) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Cores(16).MemoryBandwidth(20).Build());
  const JobId cpu = s.RunningOnNode({.gpus = 0, .cores = 4, .host_gbps = 20}, 0, 4);
  EXPECT_THAT(Decide(s, "fifo+slim").throttles, IsEmpty()) << "nobody starves";
  const JobId training = s.Running({.host_gbps = 10}, {0}, 2);
  Plan plan = Decide(s, "fifo+slim");
  ASSERT_THAT(plan.throttles, SizeIs(1));
  EXPECT_EQ(plan.throttles[0].job, cpu);
  EXPECT_EQ(plan.throttles[0].share, 0.5);
  EXPECT_EQ(plan.throttles[0].reason, Reason(reason::GivesWay{training, 0.5}));
  s->SetThrottle(cpu, 0.5);
  EXPECT_THAT(Decide(s, "fifo+slim").throttles, IsEmpty()) << "said once";
  s->Finish(training, core::JobState::kFinished);
  plan = Decide(s, "fifo+slim");
  ASSERT_THAT(plan.throttles, SizeIs(1));
  EXPECT_EQ(plan.throttles[0].share, 1);
  EXPECT_EQ(plan.throttles[0].reason, Reason(reason::Resumes{}));
  EXPECT_THAT(Decide(s, "fifo").throttles, IsEmpty()) << "who asked for cores keeps them";
}

TEST(CpuOnly, IsNotBothStoppedAndSlowed) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(8).MemoryBandwidth(20).Build());
  s.Running({.host_gbps = 15}, {0}, 2);
  const JobId cpu = s.RunningOnNode({.gpus = 0, .cores = 6, .host_gbps = 20}, 0, 6);
  s.Waiting({.wants_cores = 4});
  const Plan plan = Decide(s, "fifo+slim");
  ASSERT_THAT(plan.stops, SizeIs(1));
  EXPECT_EQ(plan.stops[0].job, cpu);
  EXPECT_THAT(plan.throttles, IsEmpty());
}

TEST(HostMemory, IsWaitedForUnderEveryPolicyAndSaid) {
  for (const auto& name : {"slot", "pack", "complement", "sharewell", "srtf", "match"}) {
    SnapshotBuilder s(ClusterBuilder().Node(2).Memory(64).Build());
    s.Running({.busy = 0.1, .host_gib = 50}, {0});
    const JobId large = s.Waiting({.busy = 0.1, .asked_host_gib = 20});
    const JobId small = s.Waiting({.seconds = 5, .busy = 0.1, .asked_host_gib = 10});
    const Plan plan = Decide(s, name);
    ASSERT_THAT(plan.starts, SizeIs(1)) << name;
    EXPECT_EQ(plan.starts[0].job, small) << name << ": there is room for it";
    ASSERT_THAT(plan.waits, SizeIs(1)) << name;
    EXPECT_EQ(plan.waits[0].job, large);
    const auto* lacks = std::get_if<reason::NoHostMemory>(&plan.waits[0].reason);
    ASSERT_NE(lacks, nullptr) << name;
    EXPECT_EQ(lacks->wanted, core::GiB(20)) << name;
    EXPECT_EQ(lacks->where, NodeId(0));
  }
}

TEST(HostMemory, NobodyIsPutBesideOthersWhereItDoesNotFit) {
  for (const auto& name : {"pack", "complement", "sharewell"}) {
    for (const double gib : {10.0, 30.0}) {
      SnapshotBuilder s(ClusterBuilder().Node(1).Memory(64).Build());
      s.Running({.busy = 0.1, .host_gib = 40}, {0});
      s.Waiting({.busy = 0.1, .host_gib = gib});
      EXPECT_THAT(Decide(s, name).starts, SizeIs(gib < 24 ? 1 : 0)) << name;
    }
  }
}

TEST(HostMemory, AGangFindsTheNodeThatHasIt) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Memory(16).Node(2).Memory(64).Build());
  s.Waiting({.gpus = 2, .asked_host_gib = 40});
  const Plan plan = Decide(s, "slot");
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].to.gpus, fixtures::OnGpus({2, 3}).gpus);
}

TEST(HostMemory, MoreThanAnyNodeHasIsNotWaitedForUnlessItIsBeliefAlone) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Memory(16).Node(1).Memory(64).Build());
  const JobId asks = s.Waiting({.asked_host_gib = 65});
  const JobId cpu = s.Waiting({.gpus = 0, .asked_host_gib = 65});
  const JobId believed = s.Waiting({.host_gib = 300});
  const Plan plan = Decide(s, "sharewell");
  EXPECT_THAT(plan.infeasible, ::testing::ElementsAre(asks, cpu));
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, believed) << "it runs alone rather than never";
}

TEST(CpuOnly, WaitsForHostMemoryAndTakesTheNodeThatHasIt) {
  SnapshotBuilder s(
      ClusterBuilder().Node(1).Cores(16).Memory(16).Node(1).Cores(8).Memory(64).Build());
  const JobId first = s.Waiting({.gpus = 0, .cores = 1, .asked_host_gib = 40});
  const JobId second = s.Waiting({.gpus = 0, .cores = 1, .asked_host_gib = 40});
  const Plan plan = Decide(s, "slot");
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, first);
  EXPECT_EQ(plan.starts[0].to, OnNode(1, 1));
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].job, second);
  EXPECT_EQ(plan.waits[0].reason,
            Reason(reason::NoHostMemory{core::GiB(40), core::GiB(24), NodeId(1)}));
}

TEST(CpuOnly, GivesItsHostMemoryToATrainingJobUnderSlimOnly) {
  for (const bool slim : {false, true}) {
    SnapshotBuilder s(ClusterBuilder().Node(1).Cores(16).Memory(64).Build());
    const JobId small = s.RunningOnNode({.gpus = 0, .cores = 1, .host_gib = 40}, 0, 1);
    s.RunningOnNode({.gpus = 0, .cores = 1}, 0, 1);  // has no memory to give, and stays
    const JobId training = s.Waiting({.wants_cores = 1, .cores = 1, .host_gib = 30});
    const Plan plan = Decide(s, slim ? "fifo+slim" : "fifo");
    if (!slim) {
      EXPECT_TRUE(plan.empty());
      continue;
    }
    ASSERT_THAT(plan.stops, SizeIs(1));
    EXPECT_EQ(plan.stops[0].job, small);
    ASSERT_THAT(plan.starts, SizeIs(1));
    EXPECT_EQ(plan.starts[0].job, training);
  }
}

}  // namespace
}  // namespace sharewell::policy
