// Jobs of lower priority that give way to one that finds no place.
#include "policy/give_way.h"

#include <gmock/gmock.h>

#include "policy/registry.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::Plan Decide(const std::string& name, SnapshotBuilder& world) {
  static const auto interference = fixtures::WithoutResidual();
  Options options;
  options.interference = &interference;
  const auto policy = fixtures::MakePolicy(name, options);
  const auto memo = policy->NewMemo();
  return policy->Decide(*world, {}, *memo);
}

std::vector<JobId> Stopped(const core::Plan& plan) {
  std::vector<JobId> out;
  for (const auto& stop : plan.stops) out.push_back(stop.job);
  return out;
}

class GiveWay : public ::testing::TestWithParam<const char*> {};

TEST_P(GiveWay, TheLowestPriorityGoesAndNobodyElse) {
  SnapshotBuilder world(ClusterBuilder().Node(2).Node(2).Build());
  world.Running(JobSpec{.exclusive = true, .priority = 5}, {0});
  world.Running(JobSpec{.exclusive = true, .priority = 3}, {1});
  const JobId low = world.Running(JobSpec{.exclusive = true, .priority = 1}, {2});
  world.Running(JobSpec{.exclusive = true, .priority = 3}, {3});
  world.At(100);
  const JobId high =
      world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 9, .preempts = true});
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(Stopped(plan), ElementsAre(low));
  EXPECT_EQ(plan.stops[0].reason, core::Reason(core::reason::Preempted{high}));
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, high);
  EXPECT_EQ(plan.starts[0].to.gpus, fixtures::OnGpus({2}).gpus);
}

TEST_P(GiveWay, NobodyGoesWithoutNeed) {
  const auto stops = [&](JobSpec running, JobSpec waiting, int gpus = 1) {
    SnapshotBuilder world(ClusterBuilder().Node(gpus).Build());
    running.exclusive = waiting.exclusive = true;
    world.Running(running, {0});
    world.At(100);
    waiting.submit = 100;
    world.Waiting(waiting);
    return Decide(GetParam(), world).stops.size();
  };
  EXPECT_EQ(stops({.priority = 1}, {.priority = 2, .preempts = true}), 1U);
  EXPECT_EQ(stops({.priority = 1}, {.priority = 2}), 0U) << "preemptionPolicy: Never";
  EXPECT_EQ(stops({.priority = 1}, {.priority = 1, .preempts = true}), 0U) << "equals do not";
  EXPECT_EQ(stops({.priority = 1, .keeps_place = true}, {.priority = 2, .preempts = true}), 0U);
  EXPECT_EQ(stops({.priority = 1}, {.priority = 2, .preempts = true}, 2), 0U) << "one is idle";
  EXPECT_EQ(stops({.priority = 1}, {.gpus = 4, .priority = 2, .preempts = true}), 0U)
      << "it could never run here";
}

TEST_P(GiveWay, AsManyAsAGangNeedsAndTheYoungestOfEquals) {
  SnapshotBuilder world(ClusterBuilder().Node(3).Build());
  const JobId old = world.Running(JobSpec{.exclusive = true}, {0});
  world.At(10);
  const JobId second = world.Running(JobSpec{.submit = 10, .exclusive = true}, {1});
  world.At(20);
  const JobId third = world.Running(JobSpec{.submit = 20, .exclusive = true}, {2});
  world.At(100);
  world.Waiting(
      JobSpec{.submit = 100, .gpus = 2, .exclusive = true, .priority = 9, .preempts = true});
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(Stopped(plan), ElementsAre(second, third)) << "not " << old.value;
}

TEST_P(GiveWay, NobodyGoesForTwo) {
  SnapshotBuilder world(ClusterBuilder().Node(3).Build());
  const JobId low = world.Running(JobSpec{.exclusive = true, .priority = 1}, {0});
  const JobId lower = world.Running(JobSpec{.exclusive = true}, {1});
  world.Running(JobSpec{.exclusive = true, .priority = 5}, {2});
  world.At(100);
  for (int i = 0; i < 3; ++i) {
    world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 5, .preempts = true});
  }
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(Stopped(plan), ::testing::UnorderedElementsAre(low, lower));
  EXPECT_THAT(plan.starts, SizeIs(2));
}

TEST_P(GiveWay, WhoIsPushedOutDoesNotPushBack) {
  SnapshotBuilder world(ClusterBuilder().Node(1).Build());
  const JobId low = world.Running(JobSpec{.exclusive = true, .priority = 1, .preempts = true}, {0});
  world.At(100);
  const JobId high =
      world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 9, .preempts = true});
  world->Stop(low);
  world->Start(high, fixtures::OnGpus({0}));
  world.At(200);
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(plan.stops, IsEmpty());
  EXPECT_THAT(plan.starts, IsEmpty());
}

TEST_P(GiveWay, NobodyIsHeldUpByThoseBeforeItThatFindNoPlace) {
  SnapshotBuilder world(ClusterBuilder().Node(2).Node(2).Build());
  for (const std::size_t gpu : {0U, 1U, 3U}) {
    world.Running({.exclusive = true, .priority = 1, .keeps_place = true}, {gpu});
  }
  const JobId gives_way = world.Running({.exclusive = true, .priority = 1}, {2});
  world.At(100);
  for (int i = 0; i < 20; ++i) {
    world.Waiting({.submit = 50, .gpus = 2, .exclusive = true, .priority = 9, .preempts = true});
  }
  const JobId single =
      world.Waiting({.submit = 100, .gpus = 1, .exclusive = true, .priority = 9, .preempts = true});
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(Stopped(plan), ElementsAre(gives_way));
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, single);
}

TEST_P(GiveWay, AGangThatSpansNodesIsTriedBehindASmallerOneThatFindsNone) {
  // Four GPUs are only on the node where somebody stays; five are its other three and a whole node.
  SnapshotBuilder world(ClusterBuilder().Node(4).Node(2).Build());
  world.Running(JobSpec{.exclusive = true, .priority = 1, .keeps_place = true}, {0});
  std::vector<JobId> low;
  for (std::size_t gpu = 4; gpu < 6; ++gpu) {
    low.push_back(world.Running(JobSpec{.exclusive = true, .priority = 1}, {gpu}));
  }
  world.At(100);
  for (const int gpus : {4, 5}) {
    world.Waiting(
        JobSpec{.submit = 50, .gpus = gpus, .exclusive = true, .priority = 9, .preempts = true});
  }
  EXPECT_EQ(Stopped(Decide(GetParam(), world)), low);
}

TEST_P(GiveWay, AnotherGoesForOneThatCannotBeStoppedNow) {
  SnapshotBuilder world(ClusterBuilder().Node(3).Build());
  const JobId stays = world.Running(JobSpec{.exclusive = true, .priority = 1}, {0});
  const JobId next = world.Running(JobSpec{.exclusive = true, .priority = 2}, {1});
  world.Running(JobSpec{.exclusive = true, .priority = 3}, {2});
  world.At(100);
  world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 9, .preempts = true});
  EXPECT_THAT(Stopped(Decide(GetParam(), world)), ElementsAre(stays));
  world->SetStays(stays, true);
  EXPECT_THAT(Stopped(Decide(GetParam(), world)), ElementsAre(next));
  world->SetStays(stays, false);
  EXPECT_THAT(Stopped(Decide(GetParam(), world)), ElementsAre(stays));
}

TEST_P(GiveWay, WhereNobodyElseCanGoItIsSaidWhoStays) {
  SnapshotBuilder world(ClusterBuilder().Node(2).Build());
  const JobId stays = world.Running(JobSpec{.exclusive = true, .priority = 1}, {0});
  world.Running(JobSpec{.exclusive = true, .priority = 9}, {1});
  world->SetStays(stays, true);
  world.At(100);
  const JobId high =
      world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 9, .preempts = true});
  const JobId polite = world.Waiting(JobSpec{.submit = 100, .exclusive = true, .priority = 9});
  const core::Plan plan = Decide(GetParam(), world);
  EXPECT_THAT(plan.stops, IsEmpty());
  EXPECT_THAT(plan.starts, IsEmpty());
  ASSERT_THAT(plan.waits, SizeIs(2));
  for (const core::Wait& wait : plan.waits) {
    const bool pushes = wait.job == high;
    EXPECT_EQ(std::holds_alternative<core::reason::OthersStay>(wait.reason), pushes);
    EXPECT_EQ(core::OtherJob(wait.reason), pushes ? stays : JobId());
    EXPECT_TRUE(pushes || wait.job == polite);
  }
  EXPECT_EQ(core::InWords(core::reason::OthersStay{stays}, "job 7"),
            "job 7, of lower priority, would give way, and cannot be stopped now");
}

// An order that lets jobs take turns rotates those that can be started again, and no others.
TEST(TakingTurns, WhoCannotBeStartedAgainKeepsItsPlace) {
  for (const bool keeps : {false, true}) {
    for (const bool stays : {false, true}) {
      SnapshotBuilder world(ClusterBuilder().Node(1).Build());
      const JobId old =
          world.Running(JobSpec{.seconds = 90'000, .exclusive = true, .keeps_place = keeps}, {0});
      world->Observe(old, core::Seconds(0), 1, {});
      world.At(40'000);
      world->SetStays(old, stays);
      world.Waiting(JobSpec{.submit = 40'000, .exclusive = true});
      const core::Plan plan = Decide("las", world);
      EXPECT_EQ(plan.stops.size(), keeps || stays ? 0U : 1U) << keeps << stays;
      EXPECT_EQ(plan.starts.size(), plan.stops.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, GiveWay, ::testing::Values("slot", "sharewell"));

}  // namespace
}  // namespace sharewell::policy
