#include "policy/placement/neighbours.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest() { options.interference = &model; }
  Context In(const Ledger& ledger, std::uint64_t decision) {
    return {*s, ledger, *sizing, options, {}, &scratch, decision};
  }

  SnapshotBuilder s{ClusterBuilder().Node(1).Build()};
  interference::Interference model = fixtures::WithoutResidual();
  std::unique_ptr<Sizing> sizing = NewAskedSizing();
  Options options;
  NeighbourScratch scratch;
  core::GpuId gpu{0};
};

TEST_F(NeighboursTest, WhoeverWasTriedHasLeftAgain) {
  s.Running(JobSpec{.busy = 0.6, .sm = 0.5}, {0});
  const core::JobId first = s.Waiting(JobSpec{.seconds = 700, .busy = 0.9, .sm = 0.8});
  const core::JobId second = s.Waiting(JobSpec{.seconds = 30, .busy = 0.3, .sm = 0.2});
  const Ledger ledger(*s, 4, false);
  Neighbours& here = scratch.On(In(ledger, 1), gpu);
  {
    const Joined joins(here.group, scratch.Alone(In(ledger, 1), first, core::GpuModelId(0)));
    EXPECT_LT(here.group.Speed(0), 1);
    EXPECT_GT(here.group.WorstLifetimeSlowdown(), 1);
  }
  EXPECT_EQ(here.group.size(), 1U);
  EXPECT_EQ(here.group.Speed(0), 1);
  const Joined joins(here.group, scratch.Alone(In(ledger, 1), second, core::GpuModelId(0)));
  Colocation anew(*s, model, ledger, gpu);
  anew.Join(second);
  EXPECT_EQ(here.group.Speed(0), anew.Speed(0));
  EXPECT_EQ(here.group.Speed(1), anew.Speed(1));
  EXPECT_EQ(here.group.WorstLifetimeSlowdown(), anew.WorstLifetimeSlowdown());
}

TEST_F(NeighboursTest, WhomThePlanPutsThereIsSeen) {
  s.Running(JobSpec{.busy = 0.3, .sm = 0.2}, {0});
  const core::JobId comes = s.Waiting(JobSpec{.busy = 0.3, .sm = 0.2});
  Ledger ledger(*s, 4, false);
  EXPECT_EQ(scratch.On(In(ledger, 1), gpu).group.size(), 1U);
  core::Allocation to = fixtures::OnGpus({0});
  ledger.Occupy(*s, comes, to);
  EXPECT_EQ(scratch.On(In(ledger, 1), gpu).group.size(), 2U);
  ledger.Vacate(*s, comes, to);
  to.sm_share = 0.4;
  ledger.Occupy(*s, comes, to);
  EXPECT_EQ(scratch.On(In(ledger, 1), gpu).group.sm_share(1), 0.4);
}

TEST_F(NeighboursTest, TheNextDecisionLooksAgain) {
  const core::JobId runs = s.Running(JobSpec{.seconds = 1000}, {0});
  const Ledger ledger(*s, 4, false);
  s->Observe(runs, core::Seconds(0), 1, core::Seconds(0));
  EXPECT_EQ(scratch.On(In(ledger, 1), gpu).group.Left(0), 1000);
  s.At(400);
  EXPECT_EQ(scratch.On(In(ledger, 2), gpu).group.Left(0), 600);
}

TEST_F(NeighboursTest, WhoIsTriedIsLookedAtAgainInTheNextDecision) {
  const core::JobId waits = s.Waiting(JobSpec{.seconds = 700, .busy = 0.9, .sm = 0.8});
  const Ledger ledger(*s, 4, false);
  const core::GpuModelId here(0);
  EXPECT_EQ(scratch.Alone(In(ledger, 1), waits, here).Left(0), 700);
  core::Estimate known = s->job(waits).estimate;
  known.duration = core::Seconds(300);
  s->SetEstimate(waits, known, true);
  EXPECT_EQ(scratch.Alone(In(ledger, 2), waits, here).Left(0), 300);
  const core::JobId other = s.Waiting(JobSpec{.seconds = 50});
  EXPECT_EQ(scratch.Alone(In(ledger, 2), other, here).Left(0), 50);
}

}  // namespace
}  // namespace sharewell::policy
