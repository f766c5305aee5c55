// Jobs of projects above their share that are stopped for one of a project below its own.
#include "policy/taking_back.h"

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

class TakingBack : public ::testing::TestWithParam<const char*> {
 protected:
  core::Plan Decide(SnapshotBuilder& world) const {
    static const auto interference = fixtures::WithoutResidual();
    Options options;
    options.interference = &interference;
    options.project_shares = shares;
    options.projects_reclaim = reclaim;
    const auto policy = fixtures::MakePolicy(GetParam(), options);
    const auto memo = policy->NewMemo();
    return policy->Decide(*world, {}, *memo);
  }
  std::vector<JobId> Stopped(SnapshotBuilder& world) const {
    std::vector<JobId> out;
    for (const auto& stop : Decide(world).stops) out.push_back(stop.job);
    return out;
  }

  std::vector<core::Ratio> shares = {0.5, 0.5};  // project 0 borrows, 1 comes later
  bool reclaim = true;
};

TEST_P(TakingBack, TheYoungestRunThatSufficesGoesAndTheJobStartsThere) {
  SnapshotBuilder world(ClusterBuilder().Node(4).Build());
  for (const std::size_t gpu : {0U, 3U, 2U, 1U}) {
    world.Running({.exclusive = true}, {gpu});
    if (gpu != 2) world.At(world->now().value + 100);
  }
  world.At(2000);
  const JobId mine = world.Waiting({.submit = 2000, .exclusive = true, .project = 1});
  const core::Plan plan = Decide(world);
  ASSERT_THAT(plan.stops, SizeIs(1));
  EXPECT_EQ(plan.stops[0].job, JobId(2)) << "of the two that ran from 200 on";
  EXPECT_EQ(plan.stops[0].reason, core::Reason(core::reason::Reclaimed{mine}));
  EXPECT_FALSE(core::IsEviction(plan.stops[0]));
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, mine);
  EXPECT_EQ(plan.starts[0].to.gpus, fixtures::OnGpus({2}).gpus);
  EXPECT_THAT(plan.waits, IsEmpty());
}

TEST_P(TakingBack, NobodyGoesWithoutNeed) {
  const auto stops = [&](JobSpec borrows, JobSpec mine, int gpus = 2, double now = 2000) {
    SnapshotBuilder world(ClusterBuilder().Node(gpus).Build());
    borrows.exclusive = mine.exclusive = true;
    for (std::size_t gpu = 0; gpu < 2; ++gpu) world.Running(borrows, {gpu});
    world.At(now);
    mine.submit = now;
    world.Waiting(mine);
    return Decide(world).stops.size();
  };
  EXPECT_EQ(stops({}, {.project = 1}), 1U);
  EXPECT_EQ(stops({.priority = 1}, {.project = 1}), 0U) << "of a higher priority";
  EXPECT_EQ(stops({}, {.priority = 1, .project = 1}), 1U);
  EXPECT_EQ(stops({.keeps_place = true}, {.project = 1}), 0U);
  EXPECT_EQ(stops({}, {.project = 1}, 3), 0U) << "one is idle";
  EXPECT_EQ(stops({}, {.project = 0}), 0U) << "its project has its share";
  EXPECT_EQ(stops({}, {.gpus = 2, .project = 1}), 0U) << "the other would be below its share";
  EXPECT_EQ(stops({}, {.gpus = 4, .project = 1}), 0U) << "it could never run here";
  EXPECT_EQ(stops({}, {.project = 1}, 2, 599), 0U) << "ten minutes are everybody's";
  EXPECT_EQ(stops({}, {.project = 1}, 2, 600), 1U);
  shares = {0.6, 0.4};
  EXPECT_EQ(stops({}, {.project = 1}), 0U) << "1.2 of 2 GPUs are reached with two";
  shares = {0, 1};
  EXPECT_EQ(stops({}, {.gpus = 2, .project = 1}), 2U) << "who has no share only borrows";
  reclaim = false;
  EXPECT_EQ(stops({}, {.project = 1}), 0U);
}

TEST_P(TakingBack, WithTheShareTakenNobodyElseGoes) {
  SnapshotBuilder world(ClusterBuilder().Node(4).Build());
  for (std::size_t gpu = 0; gpu < 4; ++gpu) world.Running({.exclusive = true}, {gpu});
  world.At(2000);
  for (int i = 0; i < 4; ++i) {
    world.Waiting({.submit = 2000, .exclusive = true, .project = 1});
  }
  const core::Plan plan = Decide(world);
  EXPECT_THAT(plan.stops, SizeIs(2));
  EXPECT_THAT(plan.starts, SizeIs(2));
  EXPECT_FALSE(plan.wake_at) << "there is nothing to come";
}

TEST_P(TakingBack, AfterAFewTheNextFollowSoon) {
  SnapshotBuilder world(ClusterBuilder().Node(12).Build());
  for (std::size_t gpu = 0; gpu < 12; ++gpu) world.Running({.exclusive = true}, {gpu});
  world.At(2000);
  for (int i = 0; i < 6; ++i) {
    world.Waiting({.submit = 2000, .exclusive = true, .project = 1});
  }
  const core::Plan plan = Decide(world);
  EXPECT_THAT(plan.stops, SizeIs(4));
  EXPECT_EQ(plan.wake_at, core::Seconds(2001));
}

TEST_P(TakingBack, ForAGangTheFewestGo) {
  shares = {0.25, 0.75};
  SnapshotBuilder world(ClusterBuilder().Node(4).Node(4).Build());
  for (std::size_t gpu = 0; gpu < 4; ++gpu) world.Running({.exclusive = true}, {gpu});
  const JobId pair = world.Running({.gpus = 2, .exclusive = true}, {4, 5});
  world.Running({.exclusive = true}, {6});
  const JobId last = world.Running({.exclusive = true}, {7});
  world.At(2000);
  const JobId two = world.Waiting({.submit = 2000, .gpus = 2, .exclusive = true, .project = 1});
  EXPECT_THAT(Stopped(world), ElementsAre(pair)) << "one where one suffices";
  world->Finish(two, core::JobState::kFailed);
  world.Waiting({.submit = 2000, .gpus = 3, .exclusive = true, .project = 1});
  const auto stopped = Stopped(world);
  EXPECT_THAT(stopped, SizeIs(2));
  EXPECT_THAT(stopped, ::testing::Contains(pair));
  EXPECT_LE(stopped.back(), last);
}

TEST_P(TakingBack, WhoWasStoppedBeforeIsLeftAloneTwiceAsLong) {
  SnapshotBuilder world(ClusterBuilder().Node(2).Build());
  const JobId once = world.Running({.exclusive = true}, {0});
  world.Running({.exclusive = true, .keeps_place = true}, {1});
  world.At(100);
  world->Stop(once);
  world->Start(once, fixtures::OnGpus({0}));
  world.Waiting({.submit = 100, .exclusive = true, .project = 1});
  world.At(1299);
  EXPECT_THAT(Stopped(world), IsEmpty());
  EXPECT_EQ(Decide(world).wake_at, core::Seconds(1300)) << "nothing else may happen until then";
  world.At(1300);
  EXPECT_THAT(Stopped(world), ElementsAre(once));
  EXPECT_EQ(UndisturbedUntil(world->job(once)), core::Seconds(1300));
  for (int i = 0; i < 40; ++i) {
    world->Stop(once);
    world->Start(once, fixtures::OnGpus({0}));
  }
  EXPECT_EQ(UndisturbedUntil(world->job(once)), core::Seconds(1300 + 600 * 1024)) << "at most";
}

TEST_P(TakingBack, AnotherGoesForOneThatCannotBeStoppedNow) {
  SnapshotBuilder world(ClusterBuilder().Node(2).Build());
  const JobId first = world.Running({.exclusive = true}, {0});
  const JobId second = world.Running({.exclusive = true}, {1});
  world.At(2000);
  world.Waiting({.submit = 2000, .exclusive = true, .project = 1});
  EXPECT_THAT(Stopped(world), ElementsAre(first)) << "of equals the first";
  world->SetStays(first, true);
  EXPECT_THAT(Stopped(world), ElementsAre(second));
  world->SetStays(second, true);
  EXPECT_THAT(Stopped(world), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Policies, TakingBack, ::testing::Values("slot", "sharewell"));

}  // namespace
}  // namespace sharewell::policy
