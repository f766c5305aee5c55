// Where a job goes, by each placement: one decision on a snapshot made by hand. One file, so that
// what all placements keep to (gangs, models, sharing) stands beside what each does.
#include "policy/placement/placement.h"

#include <gmock/gmock.h>

#include <limits>

#include "policy/registry.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::Plan;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::OnGpus;
using fixtures::OnNode;
using fixtures::SnapshotBuilder;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace reason = core::reason;

const interference::Interference& Model() {
  static const auto model = fixtures::WithoutResidual();
  return model;
}

Plan Decide(SnapshotBuilder& s, const std::string& name, Options options = {}) {
  if (options.interference == nullptr) options.interference = &Model();
  const auto policy = NewPolicy(name, options).value();
  const auto memo = policy->NewMemo();
  return policy->Decide(*s, {}, *memo);
}

std::vector<core::GpuId> PlaceOf(const Plan& plan, JobId id) {
  for (const auto& start : plan.starts) {
    if (start.job == id) return start.to.gpus;
  }
  return {};
}

core::Reason WhyStarted(const Plan& plan, JobId id) {
  for (const auto& start : plan.starts) {
    if (start.job == id) return start.reason;
  }
  ADD_FAILURE() << "job " << id.value << " was not started";
  return {};
}

core::Reason WhyWaits(const Plan& plan, JobId id) {
  for (const auto& wait : plan.waits) {
    if (wait.job == id) return wait.reason;
  }
  ADD_FAILURE() << "job " << id.value << " has no reason to wait";
  return {};
}

auto Gpus(const std::vector<std::size_t>& gpus) { return OnGpus(gpus).gpus; }

TEST(Slot, TakesWholeGpusAndSharesNone) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.busy = 0.1}, {0});
  const JobId first = s.Waiting({.busy = 0.1});
  const JobId second = s.Waiting({.busy = 0.1});
  const Plan plan = Decide(s, "slot");
  EXPECT_EQ(PlaceOf(plan, first), Gpus({1}));
  EXPECT_TRUE(std::holds_alternative<reason::IdleGpu>(WhyStarted(plan, first)));
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, second)));
}

TEST(Gangs, StayOnOneNodeWhereOneIsLargeEnough) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Node(3).Build());
  s.Running({}, {0});
  const JobId gang = s.Waiting({.gpus = 2});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), gang), Gpus({2, 3}));
}

TEST(Gangs, WaitForANodeRatherThanSpreading) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Node(2).Build());
  s.Running({}, {0});
  s.Running({}, {2});
  const JobId gang = s.Waiting({.gpus = 2});
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(Decide(s, "slot"), gang)));
}

TEST(Gangs, LargerThanANodeTakeWholeNodesAndPartOfOneMore) {
  SnapshotBuilder s(ClusterBuilder().Nodes(3, 2).Build());
  s.Running({}, {1});
  const JobId gang = s.Waiting({.gpus = 3});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), gang), Gpus({0, 2, 3}));
}

TEST(Gangs, GetGpusThatAreNearEachOther) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Islands("0,2|1,3").Build());
  const JobId first = s.Waiting({.gpus = 2}), second = s.Waiting({.gpus = 2});
  const Plan plan = Decide(s, "slot");
  EXPECT_EQ(PlaceOf(plan, first), Gpus({0, 2}));
  EXPECT_EQ(PlaceOf(plan, second), Gpus({1, 3}));
}

TEST(Gangs, GoToTheNodeWhoseGpusAreNearer) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Islands("0,1|2,3").Node(4).Islands("0,1|2,3").Build());
  s.Running({}, {0});
  s.Running({}, {2});
  const JobId gang = s.Waiting({.gpus = 2});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), gang), Gpus({4, 5})) << "and not to 1 and 3";
  s.Running({.gpus = 4}, {4, 5, 6, 7});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), gang), Gpus({1, 3})) << "rather than wait";
}

TEST(Gangs, AreLeftTheIslandsThatAreWhole) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Islands("0,1|2,3").Build());
  s.Running({}, {2});
  const JobId single = s.Waiting({}), gang = s.Waiting({.gpus = 2});
  const Plan plan = Decide(s, "slot");
  EXPECT_EQ(PlaceOf(plan, single), Gpus({3}));
  EXPECT_EQ(PlaceOf(plan, gang), Gpus({0, 1}));
}

TEST(Models, AJobOnlyRunsOnThoseItMayUse) {
  SnapshotBuilder s(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build());
  const JobId picky = s.Waiting({.only = {1}});
  const JobId cannot = s.Waiting({.rates = {1, 0}});
  const Plan plan = Decide(s, "slot");
  EXPECT_EQ(PlaceOf(plan, picky), Gpus({1}));
  EXPECT_EQ(PlaceOf(plan, cannot), Gpus({0}));
}

TEST(Models, AJobTooLargeForOneWaitsForThatWhichHoldsIt) {
  SnapshotBuilder s(
      ClusterBuilder().Model("small", 16).Model("large", 32).Node(1).Node(1, 1).Build());
  const JobId large = s.Waiting({.gib = 20});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), large), Gpus({1}));
  const JobId too_large = s.Waiting({.gib = 40});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), too_large), Gpus({0})) << "none would hold it: let it try";
}

TEST(Infeasible, IsSaidAtOnceAndOnlyOfThose) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(8).Node(0).Cores(4).Build());
  const JobId too_many = s.Waiting({.gpus = 3});
  const JobId too_wide = s.Waiting({.gpus = 2, .cores = 10});
  const JobId nowhere = s.Waiting({.only = {7}});
  const JobId too_many_cores = s.Waiting({.gpus = 0, .cores = 9});
  s.Waiting({.gpus = 2, .cores = 8});
  s.Waiting({.gpus = 0, .cores = 8});
  EXPECT_THAT(Decide(s, "slot").infeasible,
              ::testing::ElementsAre(too_many, too_wide, nowhere, too_many_cores));
}

TEST(Infeasible, AGangMaySpanNodesOfAModelWhoseNodesAreSmallerThanAnothers) {
  // Model A has a node of four with few cores; B has small nodes with enough.
  SnapshotBuilder s(ClusterBuilder()
                        .Model("A")
                        .Model("B")
                        .Node(4)
                        .Cores(4)
                        .Node(2, 1)
                        .Cores(16)
                        .Node(2, 1)
                        .Cores(16)
                        .Build());
  const JobId gang = s.Waiting({.gpus = 4, .cores = 16});
  const Plan plan = Decide(s, "slot");
  EXPECT_THAT(plan.infeasible, IsEmpty());
  EXPECT_EQ(PlaceOf(plan, gang), Gpus({4, 5, 6, 7}));
}

TEST(Infeasible, CoresThatNoSetOfWholeNodesHasAreNotWaitedFor) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(5).Node(2).Cores(19).Node(4).Cores(12).Build());
  const JobId gang = s.Waiting({.gpus = 6, .cores = 24});
  EXPECT_THAT(Decide(s, "slot").infeasible, ::testing::ElementsAre(gang));
}

TEST(Pack, IsFirstFitOnPredictedUtilisation) {
  SnapshotBuilder s(ClusterBuilder().Node(3).Build());
  s.Running({.busy = 0.8}, {0});
  s.Running({.busy = 0.5}, {1});
  s.Running({.busy = 0.2}, {2});
  const JobId job = s.Waiting({.busy = 0.4});
  const Plan plan = Decide(s, "pack");
  EXPECT_EQ(PlaceOf(plan, job), Gpus({1})) << "the first with room, not the emptiest";
  EXPECT_TRUE(std::holds_alternative<reason::FirstFit>(WhyStarted(plan, job)));
  EXPECT_NEAR(std::get<reason::FirstFit>(plan.starts[0].reason).utilisation, 0.9, 1e-12);
}

TEST(Pack, TakesIdleGpusFirst) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.busy = 0.1}, {0});
  const JobId job = s.Waiting({.busy = 0.1});
  EXPECT_EQ(PlaceOf(Decide(s, "pack"), job), Gpus({1}));
}

TEST(Pack, PutsThreeOnAGpuAtMost) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  for (int k = 0; k < 4; ++k) s.Waiting({.busy = 0.1});
  const Plan plan = Decide(s, "pack");
  EXPECT_THAT(plan.starts, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<reason::NoRoom>(WhyWaits(plan, JobId(3))));
  Options two;
  two.max_jobs_on_gpu = 2;
  EXPECT_THAT(Decide(s, "pack", two).starts, SizeIs(2));
}

TEST(Pack, ChecksPredictedMemory) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.busy = 0.1, .gib = 10}, {0});
  const JobId large = s.Waiting({.busy = 0.1, .gib = 7});
  EXPECT_TRUE(std::holds_alternative<reason::NoMemory>(WhyWaits(Decide(s, "pack"), large)));
}

TEST(Sharing, IsNotForGangsExclusiveJobsOrThoseThatRanOutOfMemory) {
  for (const char* name : {"pack", "complement", "sharewell", "share"}) {
    SnapshotBuilder s(ClusterBuilder().Node(2).Build());
    s.Running({.seconds = 1e5, .busy = 0.1}, {0});
    s.Running({.seconds = 1e5, .busy = 0.1, .exclusive = true}, {1});
    const JobId gang = s.Waiting({.gpus = 2, .busy = 0.1});
    const JobId exclusive = s.Waiting({.busy = 0.1, .exclusive = true});
    const JobId burnt = s.Waiting({.busy = 0.1});
    s->CountOom(burnt);
    const JobId other = s.Waiting({.seconds = 500, .busy = 0.1});
    const Plan plan = Decide(s, name);
    for (JobId id : {gang, exclusive, burnt}) {
      EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, id))) << name;
    }
    EXPECT_EQ(PlaceOf(plan, other), Gpus({0})) << name << ": not beside the exclusive one";
  }
}

TEST(Reactive, ProfilesAloneFirst) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.busy = 0.1}, {0});
  const JobId job = s.Waiting({.busy = 0.1});
  const JobId next = s.Waiting({.busy = 0.1});
  const Plan plan = Decide(s, "reactive");
  EXPECT_EQ(PlaceOf(plan, job), Gpus({1}));
  EXPECT_EQ(plan.starts[0].profile, core::Seconds(60));
  EXPECT_TRUE(std::holds_alternative<reason::ProfileAlone>(WhyStarted(plan, job)));
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, next)));
}

TEST(Reactive, MovesBesideOthersOnceWhenItsProfileEnds) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId there = s.Running({.busy = 0.4}, {0});
  s->SetEstimate(there, s->job(there).estimate, true);
  const JobId job = s.Running({.busy = 0.5}, {1});
  EXPECT_THAT(Decide(s, "reactive").moves, IsEmpty());
  s.At(60);
  s->SetEstimate(job, s->job(job).estimate, true);
  const JobId next = s.Waiting({});
  const Plan plan = Decide(s, "reactive");
  // Both profiles end now; the one with the lower number goes first, and then the other stays.
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_TRUE(plan.moves[0].free);
  EXPECT_TRUE(std::holds_alternative<reason::AfterProfile>(plan.moves[0].reason));
  EXPECT_NEAR(std::get<reason::AfterProfile>(plan.moves[0].reason).utilisation, 0.9, 1e-12);
  EXPECT_THAT(PlaceOf(plan, next), SizeIs(1)) << "what the move freed is used at once";
  s.At(61);
  EXPECT_THAT(Decide(s, "reactive").moves, IsEmpty()) << "not later";
}

TEST(Complement, ChoosesTheNeighbourThatLosesLeast) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.busy = 0.5, .sm = 0.5, .dram = 0.4}, {0});
  s.Running({.busy = 0.5, .sm = 0.5, .dram = 0.0}, {1});
  const JobId job = s.Waiting({.busy = 0.5, .sm = 0.1, .dram = 0.3});
  const Plan plan = Decide(s, "complement");
  EXPECT_EQ(PlaceOf(plan, job), Gpus({1}));
  EXPECT_TRUE(std::holds_alternative<reason::GoodNeighbour>(WhyStarted(plan, job)));
}

TEST(Complement, KeepsEverybodyAboveTheBound) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.busy = 1, .sm = 0.8}, {0});
  const JobId job = s.Waiting({.busy = 1, .sm = 0.8});
  EXPECT_TRUE(
      std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, "complement"), job)));
  Options lax;
  lax.max_slowdown = 4;
  EXPECT_EQ(PlaceOf(Decide(s, "complement", lax), job), Gpus({0}));
}

TEST(Complement, DoesNotShareWhereTwoGetLessDoneThanOne) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.busy = 1, .sm = 1, .dram = 1}, {0});
  const JobId job = s.Waiting({.busy = 1, .sm = 1, .dram = 1});
  Options lax;
  lax.max_slowdown = 10;
  EXPECT_TRUE(
      std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, "complement", lax), job)));
}

TEST(Complement, LooksAtTheHostToo) {
  for (const char* name : {"complement", "share"}) {
    SnapshotBuilder s(ClusterBuilder().Node(1).MemoryBandwidth(20).Pcie(6).Build());
    s.Running({.busy = 0.1, .host_gbps = 12, .pcie_gbps = 3}, {0});
    const JobId hungry = s.Waiting({.busy = 0.1, .host_gbps = 9});
    EXPECT_TRUE(std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, name), hungry)))
        << name;
    const JobId wide = s.Waiting({.busy = 0.2, .pcie_gbps = 4});
    EXPECT_TRUE(std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, name), wide)))
        << name;
    const JobId modest = s.Waiting({.busy = 0.3, .host_gbps = 7, .pcie_gbps = 2});
    EXPECT_EQ(PlaceOf(Decide(s, name), modest), Gpus({0})) << name;
  }
}

TEST(Complement, PacksMemoryOnItsUpperBound) {
  for (const char* name : {"complement", "share"}) {
    SnapshotBuilder s(ClusterBuilder().Node(1).Build());
    s.Running({.busy = 0.1, .gib = 8}, {0});
    const JobId job = s.Waiting({.busy = 0.1, .gib = 7});
    core::Estimate estimate = s->job(job).estimate;
    estimate.gpu_memory_upper = core::GiB(9);
    s->SetEstimate(job, estimate, false);
    EXPECT_TRUE(std::holds_alternative<reason::NoMemory>(WhyWaits(Decide(s, name), job))) << name;
  }
}

TEST(Sharing, IsNotWithTheUnknownUnlessThePairWasMeasured) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.seconds = 1e5, .busy = 0.1, .workload = 0, .known = false}, {0});
  const JobId job = s.Waiting({.busy = 0.1, .workload = 1});
  EXPECT_TRUE(
      std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, "complement"), job)));
  interference::PairTable pairs(1, 2);
  pairs.Add(core::GpuModelId(0), core::WorkloadId(0), core::WorkloadId(1), 0.95, 0.95);
  const auto measured = fixtures::WithoutResidual(std::move(pairs));
  Options options;
  options.interference = &measured;
  EXPECT_EQ(PlaceOf(Decide(s, "complement", options), job), Gpus({0}));
}

TEST(Sharing, KeepsTheBoundThatAJobStatesForItself) {
  const JobSpec even{.seconds = 1000, .busy = 0.5, .sm = 0.4, .dram = 0.1};  // pairs lose 14 %
  for (const char* name : {"complement", "share", "sharewell"}) {
    for (const bool resident : {false, true}) {
      SnapshotBuilder s(ClusterBuilder().Node(1).Build());
      JobSpec strict = even;
      strict.max_slowdown = 1.05;
      s.Running(resident ? strict : even, {0});
      const JobId refused = s.Waiting(resident ? even : strict);
      EXPECT_TRUE(
          std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, name), refused)))
          << name;
    }
    SnapshotBuilder s(ClusterBuilder().Node(1).Build());
    JobSpec lax{.seconds = 1000, .busy = 1, .sm = 0.8, .max_slowdown = 4};
    s.Running(lax, {0});
    const JobId job = s.Waiting(lax);
    EXPECT_EQ(PlaceOf(Decide(s, name), job), Gpus({0})) << name;
  }
}

TEST(Share, ALongJobMayHaveAShortBadNeighbour) {
  const JobSpec bad{.seconds = 600, .busy = 0.3, .sm = 0.75, .dram = 0.1};
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.seconds = 50000, .busy = 1, .sm = 0.2}, {0});
  const JobId job = s.Waiting(bad);
  EXPECT_TRUE(
      std::holds_alternative<reason::NoGoodNeighbour>(WhyWaits(Decide(s, "complement"), job)))
      << "for a while the long one would run below the bound";
  const Plan plan = Decide(s, "share");
  EXPECT_EQ(PlaceOf(plan, job), Gpus({0})) << "over its lifetime it hardly feels it";
  EXPECT_TRUE(std::holds_alternative<reason::GoodNeighbour>(WhyStarted(plan, job)));
}

TEST(Share, TheUnknownIsProfiledAndThenShared) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Cores(16).Build());
  const JobId unknown = s.Waiting({.seconds = 1e4, .busy = 0.2, .wants_cores = 16, .known = false});
  Options options;
  options.interference = &Model();
  const auto policy = NewPolicy("sharewell", options).value();
  auto memo = policy->NewMemo();
  const Plan first = policy->Decide(*s, {}, *memo);
  ASSERT_THAT(first.starts, SizeIs(1));
  EXPECT_EQ(first.starts[0].profile, core::Seconds(60));
  s->Start(unknown, first.starts[0].to);
  s->Observe(unknown, core::Seconds(0), 1, core::Seconds(0));
  s.At(10);
  const JobId other = s.Waiting({.seconds = 1e4, .busy = 0.2, .wants_cores = 2});
  const core::Change came[] = {{core::Change::Kind::kStarted, unknown},
                               {core::Change::Kind::kSubmitted, other}};
  EXPECT_THAT(policy->Decide(*s, came, *memo).starts, IsEmpty());
  s.At(60);
  core::Estimate estimate = s->job(other).estimate;
  s->SetEstimate(unknown, estimate, true);
  const core::Change seen[] = {{core::Change::Kind::kProfiled, unknown}};
  const Plan plan = policy->Decide(*s, seen, *memo);
  ASSERT_THAT(plan.resizes, SizeIs(1));
  EXPECT_EQ(plan.resizes[0].cores, 2) << "what it was seen to use, from all 16";
  EXPECT_EQ(PlaceOf(plan, other), Gpus({0}));
  const auto fresh = policy->NewMemo();
  EXPECT_EQ(policy->Decide(*s, {}, *fresh).starts.size(), 1U) << "by the law of policies";
}

TEST(Share, TakesTheFastestIdleModel) {
  SnapshotBuilder s(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build());
  const JobId job = s.Waiting({.rates = {1, 2}, .exclusive = true});
  EXPECT_EQ(PlaceOf(Decide(s, "sharewell"), job), Gpus({1}));
}

TEST(Match, GivesTheBetterModelToWhoGainsMost) {
  SnapshotBuilder s(ClusterBuilder().Model("fast").Model("slow").Node(1).Node(1, 1).Build());
  const JobId low = s.Waiting({.rates = {1, 0.9}});
  const JobId high = s.Waiting({.rates = {1, 0.3}});
  const Plan plan = Decide(s, "match");
  EXPECT_EQ(PlaceOf(plan, high), Gpus({0}));
  EXPECT_TRUE(std::holds_alternative<reason::BetterModel>(WhyStarted(plan, high)));
  EXPECT_EQ(PlaceOf(plan, low), Gpus({1}));
  EXPECT_TRUE(std::holds_alternative<reason::LeavesBetterModel>(WhyStarted(plan, low)));
}

TEST(Match, WaitsForTheModelButNoLongerThanItsPatience) {
  SnapshotBuilder s(ClusterBuilder().Model("fast").Model("slow").Node(1).Node(1, 1).Build());
  s.Running({.seconds = 1000, .rates = {1, 0.1}}, {0});
  const JobId job = s.Waiting({.seconds = 300, .rates = {1, 0.2}});
  EXPECT_TRUE(std::holds_alternative<reason::WaitsForFaster>(WhyWaits(Decide(s, "match"), job)));
  s.At(301);
  Options once;
  once.match_patience = 1;
  EXPECT_EQ(PlaceOf(Decide(s, "match", once), job), Gpus({1}));
  EXPECT_THAT(Decide(s, "match").starts, IsEmpty()) << "the default is eight durations";
  s.At(8 * 300 + 1);
  EXPECT_EQ(PlaceOf(Decide(s, "match"), job), Gpus({1}));
  Options stubborn;
  stubborn.match_patience = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Decide(s, "match", stubborn).starts, IsEmpty());
}

// It was one second: a job whose duration nobody knows took any model at once.
TEST(Match, APatienceOfUnknownDurationsIsThatOfJobsThatRun) {
  SnapshotBuilder s(ClusterBuilder().Model("fast").Model("slow").Node(1).Node(1, 1).Build());
  s.Running({.rates = {1, 0.1}, .duration_known = false}, {0});
  const JobId job = s.Waiting({.rates = {1, 0.2}, .duration_known = false});
  Options once;
  once.match_patience = 1;
  s.At(599);
  EXPECT_THAT(Decide(s, "match", once).starts, IsEmpty());
  EXPECT_EQ(Decide(s, "match", once).wake_at, core::Seconds(600)) << "ten minutes at least";
  s.At(601);
  EXPECT_EQ(PlaceOf(Decide(s, "match", once), job), Gpus({1}));
}

TEST(Match, DoesNotWaitForAModelThatAJobCanNeverHave) {
  SnapshotBuilder s(ClusterBuilder().Model("fast").Model("slow").Node(1).Node(2, 1).Build());
  const JobId picky = s.Waiting({.rates = {1, 0.5}, .only = {1}});
  EXPECT_EQ(PlaceOf(Decide(s, "match"), picky), Gpus({1})) << "it may not use the fast one";
  SnapshotBuilder t(ClusterBuilder().Model("fast").Model("slow").Node(1).Node(2, 1).Build());
  const JobId gang = t.Waiting({.gpus = 2, .rates = {1, 0.5}});
  EXPECT_EQ(PlaceOf(Decide(t, "match"), gang), Gpus({1, 2})) << "there is but one fast GPU";
}

TEST(Overtaken, AJobKeepsItsPlaceAfterADay) {
  constexpr double kDay = 24 * 3600;
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId gang = s.Waiting({.seconds = 3600, .gpus = 2});
  s.At(kDay + 1000);
  s.Running({.seconds = 5000, .submit = kDay + 1000}, {0});
  const JobId late = s.Waiting({.seconds = 6000, .submit = kDay + 1000});
  const JobId short_one = s.Waiting({.seconds = 4000, .submit = kDay + 1000});
  const Plan plan = Decide(s, "slot");
  EXPECT_TRUE(std::holds_alternative<reason::HeldBack>(WhyWaits(plan, late)))
      << "would outlast the wait";
  EXPECT_EQ(PlaceOf(plan, short_one), Gpus({1})) << "is gone before its turn: backfilled";
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, gang)));
}

TEST(Overtaken, EvenOnTheOnlyGpu) {
  // The moment it becomes free nobody runs; still those who came a day later have gone first.
  constexpr double kDay = 24 * 3600;
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId patient = s.Waiting({.seconds = 50000, .exclusive = true});
  s.At(kDay + 1000);
  const JobId before = s.Running({.seconds = 100, .submit = kDay + 1000, .exclusive = true}, {0});
  s.At(kDay + 1100);
  s->Finish(before, core::JobState::kFinished);
  s.Waiting({.seconds = 100, .submit = kDay + 1100, .exclusive = true});
  EXPECT_EQ(PlaceOf(Decide(s, "sjf"), patient), Gpus({0}));
}

TEST(Backfill, PassesOverWhoDoesNotFit) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({}, {0});
  const JobId gang = s.Waiting({.gpus = 2});
  const JobId small = s.Waiting({});
  const Plan plan = Decide(s, "slot");
  EXPECT_EQ(PlaceOf(plan, small), Gpus({1}));
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, gang)));
}

TEST(Preempting, StopsTheLongerForTheShorterAndMovesNobody) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId longest = s.Running({.seconds = 1000}, {0});
  const JobId long_one = s.Running({.seconds = 900}, {1});
  const JobId quick = s.Waiting({.seconds = 100});
  const Plan plan = Decide(s, "srtf");
  ASSERT_THAT(plan.stops, SizeIs(1));
  EXPECT_EQ(plan.stops[0].job, longest);
  EXPECT_TRUE(std::holds_alternative<reason::Preempted>(plan.stops[0].reason));
  EXPECT_EQ(PlaceOf(plan, quick), Gpus({0}));
  EXPECT_THAT(plan.moves, IsEmpty()) << "job " << long_one.value << " stays where it is";
}

TEST(Preempting, NotForLessThanARestart) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.seconds = 1000}, {0});
  s.Waiting({.seconds = 980});
  EXPECT_TRUE(Decide(s, "srtf").empty());
}

TEST(Preempting, LeavesCpuOnlyJobsTheirCores) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(8).Build());
  s.RunningOnNode({.gpus = 0, .cores = 4}, 0, 4);
  s.Running({.seconds = 1000, .cores = 4}, {0}, 4);
  const JobId quick = s.Waiting({.seconds = 10, .cores = 4});
  const JobId gang = s.Waiting({.seconds = 20, .gpus = 2, .cores = 8});
  const Plan plan = Decide(s, "srtf");
  EXPECT_EQ(PlaceOf(plan, quick).size(), 1U);
  EXPECT_THAT(PlaceOf(plan, gang), IsEmpty()) << "8 cores beside 4 of 8 used are not to be had";
}

TEST(Strangers, HoldMemoryThatIsNotFreeForJobs) {
  for (const auto& name : {"slot", "pack", "complement", "sharewell", "srtf"}) {
    SnapshotBuilder s(ClusterBuilder().Node(2).Build());  // of 16 GiB each
    s->SetForeignMemory(core::GpuId(0), core::GiB(10));
    const JobId large = s.Waiting({.busy = 0.1, .gib = 8});
    EXPECT_EQ(PlaceOf(Decide(s, name), large), Gpus({1})) << name;
    s->SetForeignMemory(core::GpuId(0), core::GiB(4));
    EXPECT_EQ(PlaceOf(Decide(s, name), large), Gpus({0})) << name << ": there is room beside it";
    s->SetForeignMemory(core::GpuId(0), core::GiB(0));
    EXPECT_FALSE(s->any_foreign_memory());
  }
}

TEST(Strangers, AreReckonedWithBesideOtherJobsToo) {
  for (const auto& name : {"pack", "complement", "sharewell"}) {
    for (const double gib : {2.0, 9.0}) {
      SnapshotBuilder s(ClusterBuilder().Node(1).Build());
      s.Running({.busy = 0.1, .gib = 4}, {0});
      s->SetForeignMemory(core::GpuId(0), core::GiB(gib));
      s.Waiting({.busy = 0.1, .gib = 4});
      EXPECT_THAT(Decide(s, name).starts, SizeIs(gib < 8 ? 1 : 0)) << name;
    }
  }
}

TEST(Strangers, MakeNobodyInfeasibleAndLeaveRoomForWhatIsNotKnown) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s->SetForeignMemory(core::GpuId(0), core::GiB(10));
  const JobId large = s.Waiting({.gib = 15});
  const Plan plan = Decide(s, "sharewell");
  EXPECT_THAT(plan.infeasible, IsEmpty()) << "strangers go";
  EXPECT_THAT(plan.starts, IsEmpty());
  EXPECT_TRUE(std::holds_alternative<reason::NoIdleGpu>(WhyWaits(plan, large)));
  SnapshotBuilder other(ClusterBuilder().Node(1).Build());
  other->SetForeignMemory(core::GpuId(0), core::GiB(1));
  const JobId unknown = other.Waiting({.gib = 16, .known = false});
  EXPECT_EQ(PlaceOf(Decide(other, "slot"), unknown), Gpus({0})) << "it leaves them a tenth";
}

TEST(OnNodes, AGangHasAsManyOnEachAndTheSameOnes) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Node(2).Node(2).Build());
  s.Running({.exclusive = true}, {0});
  const JobId gang = s.Waiting({.gpus = 2, .gpus_a_node = 1});
  EXPECT_EQ(PlaceOf(Decide(s, "slot"), gang), Gpus({1, 3})) << "not both of one node";
}

TEST(OnNodes, AGangWaitsWhereNoTwoNodesHaveTheSameIdleGpu) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Node(2).Build());
  s.Running({.exclusive = true}, {0});
  s.Running({.exclusive = true}, {3});
  s.Waiting({.gpus = 2, .gpus_a_node = 1});
  EXPECT_THAT(Decide(s, "slot").starts, IsEmpty());
}

TEST(OnNodes, OnlyThoseThatItMayUseAndNoneThatIsReserved) {
  core::Cluster cluster = ClusterBuilder().Node(1).Node(1).Build();
  cluster.SetReserved(core::NodeId(0), true);
  SnapshotBuilder s(std::move(cluster));
  const JobId theirs = s.Waiting({.submit = 1, .only_nodes = {0}});
  const JobId plain = s.Waiting({});
  const JobId large = s.Waiting({.gpus = 2});
  for (const char* name : {"slot", "sharewell"}) {
    const Plan plan = Decide(s, name);
    EXPECT_THAT(plan.infeasible, IsEmpty()) << large.value << ": a reservation ends";
    EXPECT_EQ(PlaceOf(plan, theirs), Gpus({0})) << name;
    EXPECT_EQ(PlaceOf(plan, plain), Gpus({1})) << name;
  }
}

TEST(OnNodes, NobodySharesAGpuOfANodeThatCannot) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Running({.busy = 0.2}, {0});
  s.Waiting({.busy = 0.2});
  EXPECT_THAT(Decide(s, "fifo+pack").starts, SizeIs(1));
  core::Node node;
  node.gpus = 1;
  node.model = core::GpuModelId(0);
  node.exclusive = true;
  SnapshotBuilder alone(core::Cluster(s->cluster().models(), {node}));
  alone.Running({.busy = 0.2}, {0});
  alone.Waiting({.busy = 0.2});
  EXPECT_THAT(Decide(alone, "fifo+pack").starts, IsEmpty());
}

}  // namespace
}  // namespace sharewell::policy
