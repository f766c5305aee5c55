#include "policy/colocation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::GpuModelId;
using core::JobId;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;

class ColocationTest : public ::testing::Test {
 protected:
  Colocation Of(std::vector<JobId> jobs) { return {*s, model, GpuModelId(0), jobs}; }

  SnapshotBuilder s{ClusterBuilder().Node(1).Build()};
  interference::Interference model = fixtures::WithoutResidual();
};

TEST_F(ColocationTest, AloneIsFullSpeed) {
  const Colocation one = Of({s.Waiting({})});
  EXPECT_EQ(one.Speed(0), 1);
  EXPECT_EQ(one.Slowest(), 1);
  EXPECT_EQ(one.SumOfSpeeds(), 1);
  EXPECT_EQ(one.WorstLifetimeSlowdown(), 1);
}

TEST_F(ColocationTest, TwoAlikeThatEndTogetherAreStretchedAsTheyAreSlowed) {
  const JobSpec spec{.seconds = 1000, .busy = 0.9, .sm = 0.8, .dram = 0.2};
  const Colocation two = Of({s.Waiting(spec), s.Waiting(spec)});
  EXPECT_NEAR(two.WorstLifetimeSlowdown(), 1 / two.Speed(0), 1e-9);
  EXPECT_NEAR(two.SumOfSpeeds(), 2 * two.Slowest(), 1e-12);
}

TEST_F(ColocationTest, AShortNeighbourStretchesALongJobForAWhileOnly) {
  const JobId longest = s.Waiting({.seconds = 10000, .busy = 1, .sm = 0.1});
  const JobId quick = s.Waiting({.seconds = 100, .busy = 0.1, .sm = 0.8});
  const Colocation two = Of({longest, quick});
  // While the short one runs, 100 / its speed, the long one falls behind; then it runs alone.
  const double together = 100 / two.Speed(1);
  const double end = together + (10000 - together * two.Speed(0));
  EXPECT_NEAR(two.WorstLifetimeSlowdown(), std::max(end / 10000, 1 / two.Speed(1)), 1e-9);
}

TEST_F(ColocationTest, WhatAJobAlreadySufferedCounts) {
  const JobSpec spec{.seconds = 1000, .busy = 0.1, .sm = 0.1};
  const JobId id = s.Running(spec, {0});
  s->Observe(id, core::Seconds(0), 0.5, core::Seconds(0));
  s.At(1000);  // half of it done in the time of all of it
  EXPECT_NEAR(Of({id}).WorstLifetimeSlowdown(), 1.5, 1e-9);
}

TEST_F(ColocationTest, StartUpIsNobodysFaultAndNoWork) {
  const JobSpec spec{.seconds = 1000, .busy = 0.1, .sm = 0.1};
  const JobId id = s.Running(spec, {0});
  s.At(600);  // believed to have done 600 s of its work, it tells its first step
  s->Observe(id, core::Seconds(0), 1, core::Seconds(600));
  EXPECT_EQ(s->alone_time(s->job(id)), core::Seconds(0));
  EXPECT_NEAR(Of({id}).WorstLifetimeSlowdown(), 1, 1e-9);
  s->Observe(id, core::Seconds(0), 0.5, core::Seconds(600));
  s.At(1600);
  EXPECT_NEAR(Of({id}).WorstLifetimeSlowdown(), 1.5, 1e-9) << "what came after is counted";
  s->Stop(id);
  EXPECT_EQ(s->job(id).startup, core::Seconds(600)) << "and not forgotten while it waits";
}

TEST_F(ColocationTest, FitsWhereUpperBoundsOfMemoryDo) {
  EXPECT_TRUE(Of({s.Waiting({.gib = 8}), s.Waiting({.gib = 8})}).Fits());
  EXPECT_FALSE(Of({s.Waiting({.gib = 8}), s.Waiting({.gib = 8.1})}).Fits());
}

TEST_F(ColocationTest, ANarrowShareCostsItsJobAndHelpsItsNeighbours) {
  const JobId hog = s.Waiting({.busy = 1, .sm = 0.9, .kernel_time = 70e-6});
  const JobId victim = s.Waiting({.busy = 0.9, .sm = 0.4, .kernel_time = 8e-6});
  Colocation two = Of({hog, victim});
  const double hog_before = two.Speed(0), victim_before = two.Speed(1);
  two.Limit(0, 0.6);
  EXPECT_LT(two.Speed(0), hog_before);
  EXPECT_GT(two.Speed(1), victim_before);
  EXPECT_LT(two.SpeedAlone(0), 1);
  EXPECT_EQ(two.SpeedAlone(1), 1);
}

TEST_F(ColocationTest, AShareThatTheUserInsistsOnIsHisOwnSlowdown) {
  const JobSpec spec{.busy = 1, .sm = 1};
  JobSpec insists = spec;
  insists.sm_share = 0.5;
  const JobId free = s.Waiting(spec), insisting = s.Waiting(insists);
  EXPECT_NEAR(Of({insisting}).WorstLifetimeSlowdown(), 1, 1e-9);
  EXPECT_LT(Of({insisting}).Speed(0), 1);
  EXPECT_TRUE(Of({insisting}).KeepsBoundsNow(1.01));
  EXPECT_FALSE(Of({insisting}).WhoBreaksItsBound(1.01));
  Colocation chosen = Of({free});
  chosen.Limit(0, 0.5);  // by the policy
  EXPECT_NEAR(chosen.WorstLifetimeSlowdown(), 1 / chosen.Speed(0), 1e-9);
  EXPECT_FALSE(chosen.KeepsBoundsNow(1.01));
}

TEST_F(ColocationTest, SharesThatThePlanHasGivenCount) {
  const JobId comes = s.Waiting({.busy = 1, .sm = 0.9});
  Ledger ledger(*s, 3, false);
  core::Allocation to = fixtures::OnGpus({0});
  to.sm_share = 0.6;
  ledger.Occupy(*s, comes, to);
  EXPECT_EQ(ledger.sm_share(*s, comes), 0.6);
  EXPECT_TRUE(ledger.planned(comes));
  const Colocation one(*s, model, ledger, core::GpuId(0));
  EXPECT_LT(one.Speed(0), 1);
  s->Start(comes, to);
  ledger.ForgetPlanned();
  EXPECT_EQ(ledger.sm_share(*s, comes), 0.6) << "and is in the snapshot";
  EXPECT_EQ(Colocation(*s, model, ledger, core::GpuId(0)).Speed(0), one.Speed(0));
}

}  // namespace
}  // namespace sharewell::policy
