#include "sim/world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/pause_cost.h"
#include "testing/random_case.h"

namespace sharewell::sim {
namespace {

using core::GpuModelId;
using core::JobId;
using core::Seconds;
using fixtures::Case;
using fixtures::CaseOf;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::OnGpus;
using fixtures::OnNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using End = JobOutcome::End;

// A world and what it told, driven by hand. All tests of World drive it, so they stand in one file.
class Driven {
 public:
  Driven(core::Cluster cluster, std::vector<JobSpec> specs)
      : Driven(CaseOf(std::move(cluster), std::move(specs))) {}
  explicit Driven(Case c)
      : case_(std::move(c)),
        world_(case_.cluster, case_.jobs, case_.truth, case_.interference, {1, Seconds(30)}) {
    To(0);
  }

  // Up to that time, by way of whatever happens before.
  void To(double time) {
    while (world_.NextEvent() && world_.NextEvent()->value <= time) Advance(*world_.NextEvent());
    Advance(Seconds(time));
  }
  void ToTheEnd() {
    while (world_.NextEvent()) Advance(*world_.NextEvent());
  }

  void Start(std::size_t job, const core::Allocation& to,
             std::optional<Seconds> profile = std::nullopt) {
    world_.Start(JobId(job), to, profile);
    Settle();
  }
  void Stop(std::size_t job) {
    world_.Stop(JobId(job));
    Settle();
  }
  void Pause(std::size_t job) {
    world_.Pause(JobId(job));
    Settle();
  }
  void Move(std::size_t job, const core::Allocation& to, bool free = false) {
    world_.Stop(JobId(job));
    world_.Arrive(JobId(job), to, free);
    Settle();
  }
  void Resize(std::size_t job, double cores) {
    world_.Resize(JobId(job), cores);
    Settle();
  }
  void Throttle(std::size_t job, double share) {
    world_.Throttle(JobId(job), share);
    Settle();
  }

  double Rate(std::size_t job) const { return rate_.at(job); }
  double Attained(std::size_t job) const { return attained_.at(job); }
  double FinishOf(std::size_t job) const { return world_.outcomes()[job].finish.value; }
  const JobOutcome& Outcome(std::size_t job) const { return world_.outcomes()[job]; }
  const Totals& totals() const { return world_.totals(); }
  const interference::Interference& interference() const { return case_.interference; }
  World& world() { return world_; }

  Events told;                          // since the beginning; progress is kept below
  std::vector<std::string> happenings;  // in order, as text

 private:
  void Advance(Seconds t) {
    ASSERT_GE(t, world_.now());
    Events now;
    world_.AdvanceTo(t, now);
    Take(now);
  }
  void Settle() {
    Events now;
    world_.Settle(now);
    Take(now);
  }
  void Take(const Events& now) {
    const auto add = [&](const char* what, const auto& from, auto& to) {
      to.insert(to.end(), from.begin(), from.end());
      for (JobId id : from)
        happenings.push_back(fmt::format("{} {} {}", world_.now().value, what, id.value));
    };
    add("submitted", now.submitted, told.submitted);
    add("finished", now.finished, told.finished);
    add("failed", now.failed, told.failed);
    add("out of memory", now.out_of_memory, told.out_of_memory);
    add("profiled", now.profiled, told.profiled);
    for (const Progress& p : now.progress) {
      happenings.push_back(fmt::format("{} progress {} {} {}", world_.now().value, p.job.value,
                                       p.attained.value, p.rate));
      rate_[p.job.index()] = p.rate;
      attained_[p.job.index()] = p.attained.value;
      EXPECT_LE(p.attained.value, case_.truth[p.job.index()].work.value * (1 + 1e-9));
    }
  }

  Case case_;
  World world_;
  std::map<std::size_t, double> rate_, attained_;
};

core::Cluster Gpus(int gpus) { return ClusterBuilder().Node(gpus).Build(); }

// Speed of a job beside one other, by the model.
double Beside(const JobSpec& self, const JobSpec& other) {
  const core::Cluster cluster = Gpus(1);
  const auto a = fixtures::TruthOf(self, cluster).on[0].demand;
  const auto b = fixtures::TruthOf(other, cluster).on[0].demand;
  const std::vector<interference::Resident> pair{{{}, &a, 1}, {{}, &b, 1}};
  return fixtures::WithoutResidual().Speed(GpuModelId(0), pair, 0);
}

TEST(World, AJobAloneFinishesAfterItsDuration) {
  Driven world(Gpus(1), {{.seconds = 100, .submit = 5}});
  EXPECT_EQ(world.world().NextEvent(), Seconds(5));
  world.To(5);
  EXPECT_THAT(world.told.submitted, ElementsAre(JobId(0)));
  EXPECT_FALSE(world.world().NextEvent()) << "it waits until it is started";
  world.To(20);
  world.Start(0, OnGpus({0}));
  EXPECT_EQ(world.Rate(0), 1);
  world.ToTheEnd();
  EXPECT_THAT(world.told.finished, ElementsAre(JobId(0)));
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 120);
  EXPECT_EQ(world.Outcome(0).first_start, Seconds(20));
  EXPECT_DOUBLE_EQ(world.Outcome(0).run_time.value, 100);
  EXPECT_DOUBLE_EQ(world.Outcome(0).undisturbed.value, 100);
  EXPECT_EQ(world.Outcome(0).restarting, Seconds(0));
}

TEST(World, APausedJobPaysForItsMemoryAndNotForARestart) {
  Driven world(ClusterBuilder().Node(1).Build(), {{.seconds = 100, .gib = 4, .startup = 7}});
  world.Start(0, OnGpus({0}));
  world.To(27);
  world.Pause(0);
  world.To(50);
  world.Start(0, OnGpus({0}));
  world.ToTheEnd();
  const double cost = PauseCost(core::Bytes(4.0 * 1024 * 1024 * 1024)).value;
  EXPECT_NEAR(cost, 4.65, 0.01);
  EXPECT_NEAR(world.FinishOf(0), 50 + cost + 80, 1e-6);
}

TEST(World, AnotherGpuModelIsAsFastAsItsRate) {
  Driven world(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build(),
               {{.seconds = 100, .rates = {1, 0.25}}});
  world.Start(0, OnGpus({1}));
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 400);
  EXPECT_EQ(world.Outcome(0).last_model, GpuModelId(1));
}

TEST(World, TwoBesideEachOtherFinishWhenTheSpeedsSay) {
  const JobSpec a{.seconds = 100, .busy = 0.9, .sm = 0.8, .dram = 0.3};
  const JobSpec b{.seconds = 300, .busy = 0.6, .sm = 0.7, .dram = 0.1};
  Driven world(Gpus(1), {a, b});
  world.Start(0, OnGpus({0}));
  world.Start(1, OnGpus({0}));
  const double slow_a = static_cast<float>(Beside(a, b));
  const double slow_b = static_cast<float>(Beside(b, a));
  EXPECT_DOUBLE_EQ(world.Rate(0), slow_a);
  world.ToTheEnd();
  const double end_a = 100 / slow_a;
  EXPECT_NEAR(world.FinishOf(0), end_a, 1e-6);
  EXPECT_NEAR(world.FinishOf(1), end_a + (300 - end_a * slow_b), 1e-6);
  EXPECT_NEAR(world.Outcome(1).undisturbed.value, 300, 1e-6);
  EXPECT_NEAR(world.Outcome(1).run_time.value, world.FinishOf(1), 1e-6);
}

// Long, wide kernels beside many short ones.
TEST(World, AShareOfTheSmsSlowsItsJobAndHelpsItsNeighbours) {
  const JobSpec hog{.seconds = 1000, .busy = 1, .sm = 0.9, .kernel_time = 70e-6};
  const JobSpec victim{.seconds = 1000, .busy = 0.9, .sm = 0.4, .kernel_time = 8e-6};
  core::Allocation narrow = OnGpus({0});
  narrow.sm_share = 0.6;
  Driven all(Gpus(1), {hog, victim}), less(Gpus(1), {hog, victim});
  all.Start(0, OnGpus({0}));
  less.Start(0, narrow);
  EXPECT_EQ(all.Rate(0), 1);
  const double alone = less.Rate(0);
  EXPECT_LT(alone, 0.9);
  all.Start(1, OnGpus({0}));
  less.Start(1, OnGpus({0}));
  EXPECT_LT(less.Rate(0), all.Rate(0));
  EXPECT_GT(less.Rate(1), all.Rate(1));
  less.Stop(1);
  EXPECT_NEAR(less.Rate(0), alone, 1e-6) << "a share holds until the next start";
  less.Move(0, OnGpus({0}), true);
  EXPECT_NEAR(less.Rate(0), 1, 1e-6);
}

TEST(World, AShareThatTheUserInsistedOnIsNoSlowdownByNeighbours) {
  JobSpec spec{.seconds = 100, .busy = 1, .sm = 1};
  core::Allocation narrow = OnGpus({0});
  narrow.sm_share = 0.5;
  Driven chosen(Gpus(1), {spec});
  spec.sm_share = 0.5;
  Driven insisted(Gpus(1), {spec});
  for (Driven* world : {&chosen, &insisted}) {
    world->Start(0, narrow);
    world->ToTheEnd();
    EXPECT_GT(world->FinishOf(0), 150);
  }
  EXPECT_NEAR(insisted.Outcome(0).undisturbed.value, insisted.FinishOf(0), 1e-3);
  EXPECT_NEAR(chosen.Outcome(0).undisturbed.value, 100, 1e-3);
  EXPECT_NEAR(chosen.totals().busy, chosen.FinishOf(0), 1e-3) << "its kernels take longer";
}

TEST(World, AGangIsAsFastAsItsWorstGpu) {
  const JobSpec gang{.seconds = 100, .gpus = 2, .busy = 0.8};
  const JobSpec other{.seconds = 1000, .busy = 0.9};
  Driven world(Gpus(2), {gang, other});
  world.Start(0, OnGpus({0, 1}));
  world.Start(1, OnGpus({1}));
  EXPECT_NEAR(world.Rate(0), Beside(gang, other), 1e-6);
}

TEST(World, UnmeasuredCompanyErrsByASeededResidualThatTheSameCompanyShares) {
  const JobSpec spec{.seconds = 1000, .busy = 0.9, .sm = 0.7, .workload = 0};
  Case c = CaseOf(Gpus(4), std::vector<JobSpec>(8, spec));
  for (std::size_t j : {1, 3, 5, 7}) c.jobs[j].workload = core::WorkloadId(1);
  c.interference = interference::Interference();
  const double believed = Beside(c.specs[0], c.specs[0]);
  Driven world(std::move(c));
  for (std::size_t j = 0; j < 8; ++j) world.Start(j, OnGpus({j / 2}));
  EXPECT_NE(world.Rate(0), static_cast<double>(static_cast<float>(believed)));
  EXPECT_EQ(world.Rate(0), world.Rate(2)) << "the same workloads err the same way";
  EXPECT_EQ(world.Rate(1), world.Rate(7));
  EXPECT_NE(world.Rate(0), world.Rate(1)) << "each of the two by its own";
}

TEST(World, AStoppedJobKeepsItsWorkAndPaysForTheRestart) {
  Driven world(Gpus(1), {{.seconds = 100}});
  world.Start(0, OnGpus({0}));
  world.To(40);
  world.Stop(0);
  EXPECT_FALSE(world.world().NextEvent()) << "the end it was going for no longer holds";
  world.To(60);
  world.Start(0, OnGpus({0}));
  EXPECT_EQ(world.Rate(0), 0) << "restarting";
  world.To(90);
  EXPECT_EQ(world.Rate(0), 1);
  EXPECT_DOUBLE_EQ(world.Attained(0), 40);
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 60 + 30 + 60);
  EXPECT_DOUBLE_EQ(world.Outcome(0).run_time.value, 130);
  EXPECT_DOUBLE_EQ(world.Outcome(0).restarting.value, 30);
  EXPECT_EQ(world.Outcome(0).moves, 1);
}

TEST(World, AJobThatStartsUpNeitherSlowsNorIsSlowed) {
  Driven world(Gpus(1), {{.seconds = 100}, {.seconds = 100, .startup = 20}});
  world.Start(0, OnGpus({0}));
  world.Start(1, OnGpus({0}));
  EXPECT_EQ(world.Rate(0), 1) << "its neighbour asks nothing of the GPU yet";
  EXPECT_EQ(world.Rate(1), 0);
  world.To(20);
  EXPECT_DOUBLE_EQ(world.Attained(0), 20);
  EXPECT_LT(world.Rate(0), 1);
  EXPECT_GT(world.Rate(1), 0);
  world.ToTheEnd();
  EXPECT_GT(world.FinishOf(1), 20 + 100);
  EXPECT_DOUBLE_EQ(world.Outcome(1).restarting.value, 20);
}

TEST(World, AJobThatStartsUpAsksNothingOfItsHost) {
  const JobSpec heavy{.seconds = 100, .busy = 0.1, .host_gbps = 60};
  JobSpec slow_to_start = heavy;
  slow_to_start.startup = 1000;
  Driven world(ClusterBuilder().Node(2).MemoryBandwidth(100).Build(), {heavy, slow_to_start});
  world.Start(0, OnGpus({0}));
  world.Start(1, OnGpus({1}));
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 100);
}

TEST(World, StartUpIsPaidAtEveryStart) {
  Driven world(Gpus(1), {{.seconds = 100, .restart_cost = 5, .startup = 20}});
  world.Start(0, OnGpus({0}));
  world.To(10);
  world.Stop(0);
  world.Start(0, OnGpus({0}));
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 10 + 20 + 5 + 100);
}

TEST(World, AJobMayHaveItsOwnRestartCost) {
  Driven world(Gpus(1), {{.seconds = 100, .restart_cost = 5}});
  world.Start(0, OnGpus({0}));
  world.To(40);
  world.Stop(0);
  world.Start(0, OnGpus({0}));
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 105);
}

TEST(World, AMoveCostsARestartUnlessItIsFree) {
  for (const bool free : {false, true}) {
    Driven world(Gpus(2), {{.seconds = 100}});
    world.Start(0, OnGpus({0}));
    world.To(40);
    world.Move(0, OnGpus({1}), free);
    world.ToTheEnd();
    EXPECT_DOUBLE_EQ(world.FinishOf(0), free ? 100 : 130);
    EXPECT_EQ(world.Outcome(0).moves, 1);
  }
}

TEST(World, ARestartThatIsStoppedBeginsAnew) {
  Driven world(Gpus(1), {{.seconds = 100}});
  world.Start(0, OnGpus({0}));
  world.To(10);
  world.Stop(0);
  world.Start(0, OnGpus({0}));
  world.To(30);  // 20 of the 30 s are done, and lost
  world.Stop(0);
  world.Start(0, OnGpus({0}));
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 30 + 30 + 90);
}

TEST(World, WhoComesLastDiesWhereMemoryRunsOut) {
  Driven world(Gpus(1), {{.seconds = 100, .gib = 10}, {.seconds = 100, .gib = 10}});
  world.Start(0, OnGpus({0}));
  world.To(20);
  world.Start(1, OnGpus({0}));
  EXPECT_EQ(world.Rate(1), 0);
  world.To(29.9);
  EXPECT_THAT(world.told.out_of_memory, IsEmpty());
  world.To(30);
  EXPECT_THAT(world.told.out_of_memory, ElementsAre(JobId(1)));
  EXPECT_EQ(world.Outcome(1).ooms, 1);
  EXPECT_EQ(world.Rate(0), 1) << "who was there goes on, alone again";
  world.To(200);
  EXPECT_EQ(world.Outcome(0).end, End::kFinished);
  world.Start(1, OnGpus({0}));
  world.ToTheEnd();
  EXPECT_EQ(world.Outcome(1).end, End::kFinished) << "alone it fits";
  EXPECT_DOUBLE_EQ(world.FinishOf(1), 200 + 30 + 100);
  EXPECT_DOUBLE_EQ(world.Outcome(1).restarting.value, 10 + 30);
}

TEST(World, WhoDoesNotFitAloneFails) {
  Driven world(Gpus(1), {{.gib = 17}});
  world.Start(0, OnGpus({0}));
  world.ToTheEnd();
  EXPECT_THAT(world.told.failed, ElementsAre(JobId(0)));
  EXPECT_EQ(world.Outcome(0).end, End::kFailed);
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 10);
}

TEST(World, WhoDiesBesideOneThatLeavesMeanwhileMayTryAgain) {
  Driven world(Gpus(1), {{.seconds = 25, .gib = 10}, {.seconds = 100, .gib = 10}});
  world.Start(0, OnGpus({0}));
  world.To(20);
  world.Start(1, OnGpus({0}));
  world.To(40);
  EXPECT_THAT(world.told.finished, ElementsAre(JobId(0)));
  EXPECT_THAT(world.told.failed, IsEmpty()) << "it fits alone: it must not be given up";
  EXPECT_THAT(world.told.out_of_memory, ElementsAre(JobId(1)));
}

TEST(World, APairThatWasSeenToRunOutDoesSo) {
  Case c = CaseOf(Gpus(1), {{.workload = 0}, {.workload = 1}});
  interference::PairTable pairs(1, 2);
  pairs.AddUnfit(GpuModelId(0), core::WorkloadId(0), core::WorkloadId(1));
  c.interference = fixtures::WithoutResidual(std::move(pairs));
  Driven world(std::move(c));
  world.Start(0, OnGpus({0}));
  world.Start(1, OnGpus({0}));
  world.To(10);
  EXPECT_THAT(world.told.out_of_memory, ElementsAre(JobId(1)));
}

TEST(World, AModelThatItDoesNotRunOnIsLikeNoMemory) {
  Driven world(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build(),
               {{.rates = {1, 0}}});
  world.Start(0, OnGpus({1}));
  world.ToTheEnd();
  EXPECT_THAT(world.told.failed, ElementsAre(JobId(0)));
}

TEST(World, ProfilesAreToldWhenAskedFor) {
  Driven world(Gpus(2), {{.seconds = 100}, {.seconds = 50}, {.seconds = 500}});
  world.Start(0, OnGpus({0}), Seconds(60));
  world.Start(1, OnGpus({1}), Seconds(60));
  world.To(59);
  EXPECT_THAT(world.told.profiled, IsEmpty());
  world.To(60);
  EXPECT_THAT(world.told.profiled, ElementsAre(JobId(0))) << "the other has finished";
  world.Start(2, OnGpus({1}), Seconds(60));
  world.To(70);
  world.Stop(2);
  world.ToTheEnd();
  EXPECT_THAT(world.told.profiled, ElementsAre(JobId(0))) << "a profile ends with its run";
}

TEST(World, TooFewCoresStarveATrainingJob) {
  const JobSpec wants_four{.seconds = 100, .wants_cores = 4};
  Driven world(ClusterBuilder().Node(1).Cores(16).Build(), {wants_four});
  world.Start(0, OnGpus({0}, 1));
  EXPECT_DOUBLE_EQ(world.Rate(0), 0.25);
  world.To(100);
  world.Resize(0, 4);
  EXPECT_DOUBLE_EQ(world.Rate(0), 1);
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 175);
  EXPECT_DOUBLE_EQ(world.totals().cores_reserved, 100 * 1 + 75 * 4);
  EXPECT_DOUBLE_EQ(world.totals().cores_used, 100 * 1 + 75 * 4);
}

TEST(World, CoresAreNotModelledWhereTheNodeDoesNotStateThem) {
  Driven world(Gpus(1), {{.wants_cores = 4}});
  world.Start(0, OnGpus({0}, 1));
  EXPECT_EQ(world.Rate(0), 1);
}

TEST(World, TheCpuCurveIsUsedWhereThereIsOne) {
  Driven world(ClusterBuilder().Node(2).Cores(16).Build(),
               {{.gpus = 2, .wants_cores = 4, .cpu_curve = {{1, 0.6}, {3, 1}}}});
  world.Start(0, OnGpus({0, 1}, 4));
  EXPECT_DOUBLE_EQ(world.Rate(0), 0.8) << "two cores a GPU";
}

TEST(World, MemoryBandwidthAndPcieSlowTheHostsShareOfAStep) {
  const JobSpec job{.seconds = 1000, .busy = 0.6, .host_gbps = 10, .pcie_gbps = 2};
  {
    Driven world(ClusterBuilder().Node(2).MemoryBandwidth(15).Build(), {job, job});
    world.Start(0, OnGpus({0}));
    EXPECT_EQ(world.Rate(0), 1) << "10 of 15 GB/s";
    world.Start(1, OnGpus({1}));
    const double left = 15.0 / 20;
    EXPECT_DOUBLE_EQ(world.Rate(0), 1 / (0.6 + 0.4 / left));
    EXPECT_DOUBLE_EQ(world.Rate(1), world.Rate(0));
    world.Stop(1);
    EXPECT_EQ(world.Rate(0), 1);
  }
  Driven world(ClusterBuilder().Node(2).MemoryBandwidth(15).Pcie(1).Build(), {job, job});
  world.Start(0, OnGpus({0}));
  EXPECT_DOUBLE_EQ(world.Rate(0), 1 / (0.6 + 0.4 / 0.5)) << "the narrower of the two counts";
}

TEST(World, AGangOverTenGigabitLosesAsMuchAsCodaSaw) {
  const std::vector<JobSpec> gang{{.seconds = 100, .gpus = 2}};
  const auto rate = [&](double gbit) {
    Driven world(ClusterBuilder().Node(1).Network(gbit).Node(1).Network(100).Build(), gang);
    world.Start(0, OnGpus({0, 1}));
    return world.Rate(0);
  };
  EXPECT_NEAR(rate(10), 1 - 0.275, 0.001);
  EXPECT_NEAR(rate(100), 1 / 1.0379, 1e-6);
  Driven one_node(ClusterBuilder().Node(2).Network(10).Build(), gang);
  one_node.Start(0, OnGpus({0, 1}));
  EXPECT_EQ(one_node.Rate(0), 1);
  Driven unstated(ClusterBuilder().Node(1).Node(1).Build(), gang);
  unstated.Start(0, OnGpus({0, 1}));
  EXPECT_EQ(unstated.Rate(0), 1);
}

TEST(World, MetersAreTheIntegralOfBusyTimesSpeed) {
  const JobSpec a{.seconds = 100, .busy = 0.9, .sm = 0.5, .watts = 200};
  const JobSpec b{.seconds = 1000, .busy = 0.8, .sm = 0.4, .watts = 150};
  Driven world(ClusterBuilder().Model("A").Power(50, 300).Node(2).Build(), {a, b});
  world.Start(0, OnGpus({0}));
  world.To(50);
  EXPECT_NEAR(world.totals().busy, 0.9 * 50, 1e-9);
  EXPECT_NEAR(world.totals().sm, 0.5 * 50, 1e-9);
  EXPECT_NEAR(world.totals().joules, (200 + 50) * 50, 1e-9) << "the idle GPU draws, too";
  EXPECT_NEAR(world.totals().allocated, 50, 1e-9);
  world.Start(1, OnGpus({0}));
  world.To(60);
  const double va = static_cast<float>(Beside(a, b));
  const double vb = static_cast<float>(Beside(b, a));
  EXPECT_NEAR(world.totals().busy, 45 + 10 * std::min(1.0, 0.9 * va + 0.8 * vb), 1e-6);
  EXPECT_NEAR(world.totals().joules, 12500 + 10 * (50 + 50 + 150 * va + 100 * vb), 1e-6);
  EXPECT_NEAR(world.totals().allocated, 60, 1e-9) << "shared or not, one GPU";
  EXPECT_TRUE(world.totals().busy_known);
  EXPECT_TRUE(world.totals().power_known);
}

TEST(World, WhatIsNotKnownIsSaidToBeUnknown) {
  Driven world(Gpus(1), {{.known = false}});
  EXPECT_FALSE(world.totals().power_known);
  EXPECT_TRUE(world.totals().busy_known);
  world.Start(0, OnGpus({0}));
  EXPECT_FALSE(world.totals().busy_known);
}

TEST(World, ACpuOnlyJobRunsOnItsCoresAndCanBeSlowed) {
  Driven world(ClusterBuilder().Node(1).Cores(8).Build(),
               {{.seconds = 100, .gpus = 0, .cores = 4}});
  world.Start(0, OnNode(0, 4));
  EXPECT_EQ(world.Rate(0), 1);
  world.To(20);
  world.Throttle(0, 0.5);
  EXPECT_EQ(world.Rate(0), 0.5);
  world.To(40);
  world.Throttle(0, 1);
  world.ToTheEnd();
  EXPECT_DOUBLE_EQ(world.FinishOf(0), 110);
}

TEST(World, SlowingACpuOnlyJobLeavesItsBandwidthToATrainingJob) {
  Driven world(ClusterBuilder().Node(1).Cores(8).MemoryBandwidth(20).Build(),
               {{.seconds = 1000, .busy = 0.5, .host_gbps = 10},
                {.seconds = 1000, .gpus = 0, .cores = 4, .host_gbps = 20}});
  world.Start(0, OnGpus({0}, 4));
  world.Start(1, OnNode(0, 4));
  const double left = 20.0 / 30;
  EXPECT_DOUBLE_EQ(world.Rate(0), 1 / (0.5 + 0.5 / left));
  EXPECT_DOUBLE_EQ(world.Rate(1), left) << "all of a CPU-only job is host";
  world.Throttle(1, 0.5);
  EXPECT_EQ(world.Rate(0), 1);
  EXPECT_DOUBLE_EQ(world.Rate(1), 0.5);
  world.Stop(1);
  world.Start(1, OnNode(0, 4));
  EXPECT_NE(world.Rate(0), 1) << "started anew it is not throttled";
}

TEST(World, ADroppedJobIsInfeasible) {
  Driven world(Gpus(1), {{.gpus = 9}});
  world.world().Drop(JobId(0));
  EXPECT_EQ(world.Outcome(0).end, End::kInfeasible);
}

// A random history of orders, in which memory may run out. Progress beyond the work is looked for
// at every event (Take).
std::vector<std::string> RandomHistory(std::uint64_t seed) {
  fixtures::Dice dice(seed);
  std::vector<JobSpec> specs;
  for (int j = 0; j < 12; ++j) {
    specs.push_back({.seconds = dice.Uniform(10, 500),
                     .gpus = dice.Between(1, 2),
                     .busy = dice.Uniform(0, 1),
                     .gib = dice.Uniform(1, 7),
                     .wants_cores = dice.Uniform(0, 4),
                     .host_gbps = dice.Uniform(0, 8)});
  }
  Case c = CaseOf(ClusterBuilder().Node(2).Cores(8).MemoryBandwidth(9).Node(2).Build(), specs);
  c.interference = interference::Interference();
  Driven world(std::move(c));
  std::vector<bool> runs(specs.size(), false);
  double now = 0;
  for (int step = 0; step < 300; ++step) {
    world.To(now += dice.Uniform(0, 30));
    for (auto* ended : {&world.told.finished, &world.told.failed, &world.told.out_of_memory}) {
      for (JobId id : *ended) runs[id.index()] = false;
      ended->clear();
    }
    const auto j = static_cast<std::size_t>(dice.Between(0, 11));
    if (world.Outcome(j).end != End::kUnfinished) continue;
    const auto g = static_cast<std::size_t>(dice.Between(0, 2));
    const auto to = specs[j].gpus == 1 ? OnGpus({g}, 2) : OnGpus({g, g + 1}, 2);
    const int what = dice.Between(0, 2);
    if (!runs[j]) {
      world.Start(j, to);
      runs[j] = true;
    } else if (what == 0) {
      world.Stop(j);
      runs[j] = false;
    } else if (what == 1) {
      world.Move(j, to, dice.Chance(0.5));
    } else {
      world.Resize(j, dice.Uniform(0, 4));
    }
  }
  world.ToTheEnd();
  return world.happenings;
}

TEST(World, TheSameCallsGiveTheSameEventsAndNobodyDoesMoreThanItsWork) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(RandomHistory(seed), RandomHistory(seed));
  }
}

}  // namespace
}  // namespace sharewell::sim
