// What preempting orders do where jobs can be paused, and where paused jobs go on.
#include "policy/paused_place.h"

#include <gmock/gmock.h>

#include "policy/registry.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::policy {
namespace {

using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::Plan Decide(const std::string& name, SnapshotBuilder& world, bool pauses) {
  static const auto interference = fixtures::WithoutResidual();
  Options options;
  options.interference = &interference;
  options.pauses_runs = pauses;
  const auto policy = fixtures::MakePolicy(name, options);
  const auto memo = policy->NewMemo();
  return policy->Decide(*world, {}, *memo);
}

TEST(PausedPlace, APreemptingOrderPausesWhereItCan) {
  for (const bool pauses : {false, true}) {
    SnapshotBuilder world(ClusterBuilder().Node(1).Build());
    const auto longer = world.Running(JobSpec{.seconds = 5000}, {0});
    world.At(100);
    const auto shorter = world.Waiting(JobSpec{.seconds = 10, .submit = 100});
    const core::Plan plan = Decide("srtf", world, pauses);
    ASSERT_THAT(plan.stops, SizeIs(1));
    EXPECT_EQ(plan.stops[0].job, longer);
    EXPECT_EQ(plan.stops[0].pause, pauses);
    ASSERT_THAT(plan.starts, SizeIs(1));
    EXPECT_EQ(plan.starts[0].job, shorter);
  }
}

TEST(PausedPlace, NobodyIsPausedWithinItsFirstMinute) {
  SnapshotBuilder world(ClusterBuilder().Node(1).Build());
  world.Running(JobSpec{.seconds = 5000}, {0});
  world.At(20);
  world.Waiting(JobSpec{.seconds = 10, .submit = 20});
  const core::Plan plan = Decide("srtf", world, true);
  EXPECT_THAT(plan.stops, IsEmpty());
  ASSERT_TRUE(plan.wake_at);
  EXPECT_LE(*plan.wake_at, core::Seconds(60));
}

TEST(PausedPlace, APausedJobGoesOnWhereItWasAndNowhereElse) {
  for (const char* name : {"slot", "srtf", "sharewell"}) {
    SnapshotBuilder world(ClusterBuilder().Node(2).Build());
    const auto job = world.Running(JobSpec{.seconds = 500, .exclusive = true}, {1});
    world.At(100);
    world->Pause(job);
    EXPECT_TRUE(world->job(job).paused);
    core::Plan plan = Decide(name, world, true);
    ASSERT_THAT(plan.starts, SizeIs(1)) << name;
    EXPECT_EQ(plan.starts[0].to.gpus, fixtures::OnGpus({1}).gpus) << name;

    const auto other = world.Running(JobSpec{.seconds = 100, .exclusive = true}, {1});
    plan = Decide(name, world, true);
    EXPECT_THAT(plan.starts, IsEmpty()) << name;  // though GPU 0 is idle
    world->Finish(other, core::JobState::kFinished);
    world->Start(job, fixtures::OnGpus({1}));
    EXPECT_FALSE(world->job(job).paused);
  }
}

// Its neighbour has left, so it may be paused; its process keeps its cap.
TEST(PausedPlace, APausedGuestGoesOnInsideItsCapAlone) {
  SnapshotBuilder world(ClusterBuilder().Node(1).Build());
  const auto guest = world.Waiting(JobSpec{.seconds = 500, .known = false});
  core::Allocation inside_cap = fixtures::OnGpus({0}, 1);
  inside_cap.sm_share = 0.8;
  inside_cap.guest_memory = core::GiB(12);
  world->Start(guest, inside_cap);
  world.At(100);
  const auto shorter = world.Waiting(JobSpec{.seconds = 10, .submit = 100, .exclusive = true});
  const core::Plan pauses = Decide("srtf+share", world, true);
  ASSERT_THAT(pauses.stops, SizeIs(1));
  EXPECT_EQ(pauses.stops[0].job, guest);
  EXPECT_TRUE(pauses.stops[0].pause);

  world->Pause(guest);
  world->Finish(shorter, core::JobState::kFinished);
  const core::Plan resumes = Decide("srtf+share", world, true);
  ASSERT_THAT(resumes.starts, SizeIs(1));
  EXPECT_EQ(resumes.starts[0].job, guest);
  EXPECT_EQ(resumes.starts[0].to, inside_cap);
}

// Its own memory and what it had on its GPU lie on the host meanwhile.
TEST(PausedPlace, NobodyIsPausedWhereHostMemoryHasNoRoomForIt) {
  for (const double node_gib : {64.0, 40.0}) {
    SnapshotBuilder world(ClusterBuilder().Node(1).Memory(node_gib).Build());
    world.Running(JobSpec{.seconds = 5000, .gib = 20, .host_gib = 16}, {0});
    world.At(100);
    world.Waiting(JobSpec{.seconds = 10, .submit = 100, .host_gib = 16});
    const core::Plan plan = Decide("srtf", world, true);
    ASSERT_THAT(plan.stops, SizeIs(1));
    EXPECT_EQ(plan.stops[0].pause, node_gib > 52) << "16 + 20 of the paused, 16 of the other";
    EXPECT_THAT(plan.starts, SizeIs(1));
  }
}

TEST(PausedPlace, WhatAPausedJobHoldsIsNobodyElses) {
  for (const char* name : {"slot", "srtf", "sharewell"}) {
    SnapshotBuilder world(ClusterBuilder().Node(2).Memory(64).Build());
    const auto paused =
        world.Running(JobSpec{.seconds = 50, .gib = 20, .exclusive = true, .host_gib = 16}, {1});
    world.At(100);
    world->Pause(paused);
    const auto blocks = world.Running(JobSpec{.seconds = 9, .exclusive = true}, {1});
    world.Waiting(JobSpec{.seconds = 20, .exclusive = true, .host_gib = 32});
    EXPECT_THAT(Decide(name, world, true).starts, IsEmpty()) << name << ": 36 of 64 GiB are held";
    world->Finish(blocks, core::JobState::kFinished);
    world->Start(paused, fixtures::OnGpus({1}));
    EXPECT_THAT(Decide(name, world, true).starts, SizeIs(1)) << name << ": 16 of 64 GiB are";
  }
}

TEST(PausedPlace, SomePoliciesNeverShare) {
  for (const char* name : {"slot", "srtf", "fair+fifo", "las+slot+slim"}) {
    EXPECT_FALSE(SharesGpus(name)) << name;
  }
  for (const char* name : {"sharewell", "pack", "reactive", "complement", "srtf+share"}) {
    EXPECT_TRUE(SharesGpus(name)) << name;
  }
}

}  // namespace
}  // namespace sharewell::policy
