#include "core/snapshot.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "testing/builders.h"
#include "testing/random_case.h"

namespace sharewell::core {
namespace {

using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::OnGpus;
using fixtures::OnNode;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAre;

std::vector<JobId> On(const Snapshot& s, std::size_t gpu) {
  const auto jobs = s.residents(GpuId(gpu)).jobs();
  return {jobs.begin(), jobs.end()};
}

TEST(Snapshot, BeginsIdle) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Node(1).Build());
  EXPECT_EQ(s->idle_gpus(), 3);
  EXPECT_EQ(s->idle_gpus(NodeId(0)), 2);
  EXPECT_EQ(s->backlog().all, 0);
  EXPECT_TRUE(s->waiting().empty());
}

TEST(Snapshot, AJobWaitsRunsStopsAndEnds) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(8).Build());
  const JobId id = s.Waiting({.seconds = 100, .gpus = 2});
  EXPECT_THAT(s->waiting(), ElementsAre(id));
  s.At(10);
  s->Start(id, OnGpus({0, 1}, 6));
  s->Observe(id, Seconds(0), 0.5, Seconds(0));
  EXPECT_THAT(s->running(), ElementsAre(id));
  EXPECT_EQ(s->idle_gpus(), 0);
  EXPECT_EQ(s->cores_used(NodeId(0)), 6);
  EXPECT_EQ(s->changed(GpuId(1)), Seconds(10));
  s.At(30);
  EXPECT_EQ(s->attained(s->job(id)), Seconds(10));
  EXPECT_EQ(s->run_time(s->job(id)), Seconds(20));
  EXPECT_EQ(s->remaining(s->job(id)), Seconds(90));
  EXPECT_NEAR(s->usage(UserId(0)), 40, 0.01) << "two GPUs for 20 s";
  EXPECT_EQ(s->gpus_held(UserId(0)), 2);
  s->Stop(id);
  s.At(50);
  EXPECT_EQ(s->attained(s->job(id)), Seconds(10)) << "its work is kept, and stands still";
  EXPECT_EQ(s->job(id).restarts, 1);
  EXPECT_EQ(s->idle_gpus(), 2);
  s->Finish(id, JobState::kFailed);
  EXPECT_TRUE(s->waiting().empty());
  EXPECT_NEAR(s->usage(UserId(0)), 40, 0.02);
  EXPECT_EQ(s->gpus_held(UserId(0)), 0);
}

TEST(Snapshot, WhatWasUsedADayAgoCountsHalf) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId id = s.Waiting({.gpus = 2});
  s->Start(id, OnGpus({0, 1}, 1));
  s.At(100);
  s->Finish(id, JobState::kFinished);
  const double used = s->usage(UserId(0));
  EXPECT_NEAR(used, 200, 0.1);
  s->AddUsage(UserId(3), 50);
  s.At(100 + 86400);
  EXPECT_NEAR(s->usage(UserId(0)), used / 2, 1e-9);
  EXPECT_NEAR(s->usage(UserId(3)), 25, 1e-9) << "told of a time before this snapshot";
  EXPECT_EQ(s->usage(UserId(1)), 0) << "nobody has heard of that user";
  EXPECT_EQ(s->usage(UserId()), 0);
}

// Each second of use counts by its own age, whenever it is read.
TEST(Snapshot, UsageIsTheSumOfItsSecondsEachByItsAge) {
  SnapshotBuilder s(ClusterBuilder().Node(3).Build());
  const JobId first = s.Waiting({.gpus = 2}), second = s.Waiting({.gpus = 1});
  double sum = 0;
  for (int h = 0; h < 100; ++h) {
    if (h == 10) s->Start(first, OnGpus({0, 1}, 1));
    if (h == 20) s->Start(second, OnGpus({2}, 1));
    if (h == 30) s->Stop(first);
    if (h == 60) s->Finish(second, JobState::kFinished);
    const int gpus = (h >= 10 && h < 30 ? 2 : 0) + (h >= 20 && h < 60 ? 1 : 0);
    for (int k = 0; k < 3600; ++k) sum = sum * std::exp2(-1.0 / 86400) + gpus;
    s.At((h + 1) * 3600.0);
    EXPECT_NEAR(s->usage(UserId(0)), sum, 1e-4 * (1 + sum)) << h;
  }
}

TEST(Snapshot, TimeAloneIsCountedOnTheModelTheWorkWasDoneOn) {
  SnapshotBuilder s(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build());
  const JobId id = s.Waiting({.seconds = 1000, .rates = {1, 0.5}});
  s->Start(id, OnGpus({1}));
  s->Observe(id, Seconds(0), 0.25, Seconds(0));  // half its speed alone on B
  s.At(100);
  EXPECT_EQ(s->alone_time(s->job(id)), Seconds(50)) << "25 s of work, at half a second a second";
  s->Move(id, OnGpus({0}));
  s->Observe(id, Seconds(25), 1, Seconds(0));
  s.At(120);
  EXPECT_EQ(s->alone_time(s->job(id)), Seconds(70)) << "and 20 s on A";
}

TEST(Snapshot, NeighboursStandInOrderOfArrival) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId a = s.Running({}, {0});
  const JobId b = s.Running({}, {0});
  const JobId c = s.Running({}, {0});
  EXPECT_THAT(On(*s, 0), ElementsAre(a, b, c));
  s->Stop(b);
  EXPECT_THAT(On(*s, 0), ElementsAre(a, c));
}

TEST(Snapshot, CoresOfAGangAreSpreadAsItsGpusAre) {
  const Cluster cluster = ClusterBuilder().Node(2).Node(2).Build();
  EXPECT_DOUBLE_EQ(Snapshot::CoresOn(cluster, OnGpus({0, 1, 2}, 9), NodeId(0)), 6);
  EXPECT_DOUBLE_EQ(Snapshot::CoresOn(cluster, OnGpus({0, 1, 2}, 9), NodeId(1)), 3);
  EXPECT_DOUBLE_EQ(Snapshot::CoresOn(cluster, OnNode(1, 4), NodeId(1)), 4);
  EXPECT_DOUBLE_EQ(Snapshot::CoresOn(cluster, OnNode(1, 4), NodeId(0)), 0);
}

TEST(Snapshot, AJobPastItsEstimateIsBelievedNearItsEnd) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId id = s.Running({.seconds = 100}, {0});
  s.At(99);
  EXPECT_EQ(s->remaining(s->job(id)), Seconds(2));
  s.At(500);
  EXPECT_EQ(s->remaining(s->job(id)), Seconds(2));
}

TEST(Snapshot, AnUnknownDurationLeavesAnUnknownRest) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId id = s.Waiting({.duration_known = false});
  EXPECT_FALSE(s->remaining(s->job(id)));
  EXPECT_EQ(s->backlog().all, 600) << "counted as ten minutes";
}

TEST(Snapshot, RestartCostIsTheJobsOwnWhereItHasOne) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build(), 45);
  EXPECT_EQ(s->restart_cost(s->job(s.Waiting({}))), Seconds(45));
  EXPECT_EQ(s->restart_cost(s->job(s.Waiting({.restart_cost = 7}))), Seconds(7));
}

TEST(Snapshot, RemembersTheLastInstantsOfSubmission) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  s.Waiting({});
  s.Waiting({});
  EXPECT_EQ(s->arrivals().size(), 1U) << "a batch is one instant";
  for (int t = 1; t <= 20; ++t) s.At(t).Waiting({});
  EXPECT_EQ(s->arrivals().size(), Snapshot::kArrivals);
  EXPECT_EQ(s->arrivals().front(), Seconds(10));
  EXPECT_EQ(s->arrivals().back(), Seconds(20));
}

// The same history kept in the plainest way, to compare with.
class Model {
 public:
  explicit Model(const Snapshot& s) : s_(s) {}

  void ExpectTheSame() const {
    const Cluster& cluster = s_.cluster();
    std::vector<JobId> waiting, running;
    std::map<GpuId, std::vector<JobId>> on;
    std::vector<double> cores(cluster.nodes().size(), 0.0), cpu_cores(cluster.nodes().size(), 0.0);
    std::vector<int> held(4, 0);
    double backlog = 0;
    int cpu_only = 0;
    for (std::size_t j = 0; j < s_.job_count(); ++j) {
      const JobView& view = s_.job(JobId(j));
      const bool runs = view.state == JobState::kRunning;
      if (view.state == JobState::kWaiting) waiting.push_back(JobId(j));
      if (runs) running.push_back(JobId(j));
      held[view.job.user.index()] += runs ? view.job.gpus : 0;
      if (!runs && view.state != JobState::kWaiting) continue;
      cpu_only += view.cpu_only() ? 1 : 0;
      backlog += view.job.gpus * s_.remaining(view)->value;
      if (!runs) continue;
      for (GpuId gpu : view.allocation.gpus) on[gpu].push_back(JobId(j));
      for (std::size_t n = 0; n < cores.size(); ++n) {
        const double here = Snapshot::CoresOn(cluster, view.allocation, NodeId(n));
        cores[n] += here;
        if (view.cpu_only()) cpu_cores[n] += here;
      }
    }
    EXPECT_THAT(s_.waiting(), ::testing::UnorderedElementsAreArray(waiting));
    EXPECT_THAT(s_.running(), ::testing::UnorderedElementsAreArray(running));
    EXPECT_EQ(s_.cpu_only_jobs(), cpu_only);
    int idle = 0;
    std::vector<int> idle_on(cores.size(), 0);
    for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
      EXPECT_THAT(On(s_, g), ::testing::UnorderedElementsAreArray(on[GpuId(g)]));
      if (!on[GpuId(g)].empty()) continue;
      ++idle;
      ++idle_on[cluster.NodeOf(GpuId(g)).index()];
    }
    EXPECT_EQ(s_.idle_gpus(), idle);
    for (std::size_t n = 0; n < cores.size(); ++n) {
      EXPECT_EQ(s_.idle_gpus(NodeId(n)), idle_on[n]);
      EXPECT_NEAR(s_.cores_used(NodeId(n)), cores[n], 1e-6);
      EXPECT_NEAR(s_.cpu_only_cores(NodeId(n)), cpu_cores[n], 1e-6);
    }
    for (std::size_t u = 0; u < held.size(); ++u) EXPECT_EQ(s_.gpus_held(UserId(u)), held[u]);
    EXPECT_NEAR(s_.backlog().all, backlog, 1e-6 * (1 + backlog));
  }

 private:
  const Snapshot& s_;
};

// One random step of a history. Jobs are so long that none outlives its estimate: beyond that the
// backlog is told a little low until the job is next observed.
void Step(fixtures::Dice& dice, SnapshotBuilder& s) {
  const auto any = [&](std::span<const JobId> ids) {
    return ids[static_cast<std::size_t>(dice.Between(0, static_cast<int>(ids.size()) - 1))];
  };
  const auto place = [&](const JobView& view) {
    const int gpus = static_cast<int>(s->cluster().gpu_count());
    if (view.cpu_only())
      return OnNode(static_cast<std::size_t>(dice.Between(0, 2)), dice.Between(1, 4));
    std::vector<std::size_t> where;
    for (int g = 0; g < gpus && static_cast<int>(where.size()) < view.job.gpus; ++g) {
      const bool must = gpus - g == view.job.gpus - static_cast<int>(where.size());
      const bool room = s->residents(GpuId(static_cast<std::size_t>(g))).count() < 6;
      if ((must || dice.Chance(0.5)) && room) where.push_back(static_cast<std::size_t>(g));
    }
    return OnGpus(where, dice.Between(0, 6));
  };
  s.At(s->now().value + dice.Pick({0, 1, 7, 100}));
  const int what = dice.Between(0, 9);
  if (what <= 2) {
    s.Waiting({.seconds = dice.Uniform(1e7, 1e8),
               .gpus = dice.Between(0, 3),
               .user = static_cast<std::size_t>(dice.Between(0, 3))});
  } else if (what <= 5 && !s->waiting().empty()) {
    const JobId id = any(s->waiting());
    const Allocation to = place(s->job(id));
    if (to.gpus.size() != static_cast<std::size_t>(s->job(id).job.gpus)) return;
    s->Start(id, to);
    s->Observe(id, s->job(id).attained, dice.Uniform(0, 2), Seconds(0));
  } else if (!s->running().empty()) {
    const JobId id = any(s->running());
    const JobView& view = s->job(id);
    if (what == 6) {
      s->Stop(id);
    } else if (what == 7) {
      s->Finish(id, dice.Chance(0.5) ? JobState::kFinished : JobState::kFailed);
    } else if (what == 8) {
      dice.Chance(0.5) ? s->Resize(id, dice.Between(0, 9))
                       : s->Observe(id, s->attained(view), dice.Uniform(0, 2), Seconds(0));
    } else {
      Estimate estimate = view.estimate;
      estimate.duration = *estimate.duration * dice.Uniform(0.5, 2);
      s->SetEstimate(id, estimate, true);
    }
  }
}

TEST(Snapshot, CountsAgreeWithARecountAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fixtures::Dice dice(seed);
    SnapshotBuilder s(ClusterBuilder().Node(3).Node(2).Node(0).Build());
    const Model model(*s);
    for (int step = 0; step < 300; ++step) {
      Step(dice, s);
      model.ExpectTheSame();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
    }
  }
}

// All who are over go, but for some by chance.
Renumbering WithoutSome(fixtures::Dice& dice, const Snapshot& s) {
  std::vector<bool> stays(s.job_count());
  for (std::size_t j = 0; j < stays.size(); ++j) {
    const JobState state = s.job(JobId(j)).state;
    stays[j] = state == JobState::kWaiting || state == JobState::kRunning || dice.Chance(0.1);
  }
  return Renumbering(stays);
}

// `now_called`: by id in `a`; not valid: `b` has forgotten it.
void ExpectTheSame(const Snapshot& a, const Snapshot& b, const std::vector<JobId>& now_called) {
  const auto called = [&](std::span<const JobId> ids) {
    std::vector<JobId> other;
    for (const JobId id : ids) other.push_back(now_called[id.index()]);
    return other;
  };
  EXPECT_THAT(b.waiting(), ElementsAreArray(called(a.waiting())));
  EXPECT_THAT(b.running(), ElementsAreArray(called(a.running())));
  EXPECT_THAT(b.arrivals(), ElementsAreArray(a.arrivals()));
  EXPECT_EQ(b.youngest_started(), a.youngest_started());
  EXPECT_EQ(b.backlog().all, a.backlog().all);
  EXPECT_EQ(b.backlog().waiting, a.backlog().waiting);
  EXPECT_EQ(b.cpu_only_jobs(), a.cpu_only_jobs());
  for (std::size_t u = 0; u < 4; ++u) EXPECT_EQ(b.usage(UserId(u)), a.usage(UserId(u)));
  for (std::size_t g = 0; g < a.cluster().gpu_count(); ++g) {
    EXPECT_THAT(On(b, g), ElementsAreArray(called(a.residents(GpuId(g)).jobs())));
    EXPECT_EQ(b.changed(GpuId(g)), a.changed(GpuId(g)));
  }
  for (const auto list : {a.waiting(), a.running()}) {
    for (const JobId id : list) {
      const JobView &before = a.job(id), &now = b.job(now_called[id.index()]);
      EXPECT_EQ(now.job.id, now_called[id.index()]);
      EXPECT_EQ(now.job.user, before.job.user);
      EXPECT_EQ(now.estimate.duration, before.estimate.duration);
      EXPECT_EQ(now.allocation, before.allocation);
      EXPECT_EQ(b.attained(now), a.attained(before));
      EXPECT_EQ(now.restarts, before.restarts);
    }
  }
}

TEST(Snapshot, F13_GoesOnAsItWasWhenIdsAreGivenAnew) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fixtures::Dice dice(seed), same_dice(seed), when(seed + 1000);
    SnapshotBuilder s(ClusterBuilder().Node(3).Node(2).Node(0).Build());
    SnapshotBuilder renumbered(ClusterBuilder().Node(3).Node(2).Node(0).Build());
    const Model model(*renumbered);
    std::vector<JobId> now_called;  // in the one that is renumbered
    for (int step = 0; step < 300; ++step) {
      Step(dice, s);
      Step(same_dice, renumbered);
      if (now_called.size() < s->job_count()) now_called.emplace_back(renumbered->job_count() - 1);
      if (when.Chance(0.1)) {
        const Renumbering ids = WithoutSome(when, *renumbered);
        renumbered->Renumber(ids);
        EXPECT_EQ(renumbered->job_count(), ids.staying());
        for (JobId& id : now_called) id = ids.Of(id);
      }
      ExpectTheSame(*s, *renumbered, now_called);
      model.ExpectTheSame();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
    }
    EXPECT_LT(renumbered->job_count(), s->job_count());
  }
}

TEST(Snapshot, MovingIsLeavingAndComing) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Cores(8).Node(2).Cores(8).Build());
  const JobId id = s.Running({.gpus = 2}, {0, 1}, 4);
  s.At(5);
  s->Move(id, OnGpus({2, 3}, 6));
  EXPECT_EQ(s->cores_used(NodeId(0)), 0);
  EXPECT_EQ(s->cores_used(NodeId(1)), 6);
  EXPECT_EQ(s->idle_gpus(NodeId(0)), 2);
  EXPECT_EQ(s->changed(GpuId(0)), Seconds(5));
  EXPECT_EQ(s->changed(GpuId(2)), Seconds(5));
  EXPECT_EQ(s->job(id).restarts, 1);
  EXPECT_THAT(s->running(), UnorderedElementsAre(id));
}

TEST(Snapshot, GrowsWithItsCluster) {
  Cluster cluster = ClusterBuilder().Node(1).Cores(4).Build();
  Snapshot snapshot(cluster);
  snapshot.Submit(fixtures::JobOf({}, 0), fixtures::EstimateOf({}, cluster));
  snapshot.Start(JobId(0), OnGpus({0}, 2));
  Node node;
  node.gpus = 2;
  node.model = GpuModelId(0);
  cluster.Add(node);
  snapshot.Grow();
  EXPECT_EQ(snapshot.idle_gpus(), 2);
  EXPECT_EQ(snapshot.idle_gpus(NodeId(0)), 0) << "what was there stays";
  EXPECT_EQ(snapshot.cores_used(NodeId(0)), 2);
  EXPECT_EQ(snapshot.cores_used(NodeId(1)), 0);
  snapshot.Move(JobId(0), OnGpus({2}, 2));
  EXPECT_EQ(snapshot.idle_gpus(NodeId(1)), 1);
  EXPECT_EQ(snapshot.cores_used(NodeId(1)), 2);
  snapshot.SetForeignHost(NodeId(1), 5, Bytes(100));
  snapshot.SetForeignHost(NodeId(1), 3, Bytes(40));
  EXPECT_EQ(snapshot.cores_used(NodeId(1)), 5) << "others' are used too";
  EXPECT_EQ(snapshot.memory_used(NodeId(1)), Bytes(40));
  EXPECT_EQ(snapshot.cpu_only_cores(NodeId(1)), 0) << "and do not give way";
  snapshot.SetForeignHost(NodeId(1), 0, Bytes(0));
  EXPECT_EQ(snapshot.cores_used(NodeId(1)), 2);
  snapshot.Grow();
  EXPECT_EQ(snapshot.idle_gpus(), 2) << "nothing is new";
}

TEST(SnapshotDeathTest, WhatCannotHappenEndsTheProgram) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId id = s.Waiting({});
  s.At(5);
  EXPECT_DEATH(s->AdvanceTo(Seconds(4)), "now >= now_");
  EXPECT_DEATH(s->Stop(id), "kRunning");
}

TEST(HostMemory, IsTheLargerOfWhatWasAskedAndWhatIsBelieved) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Memory(100).Node(2).Memory(100).Node(1).Build());
  const auto reserved = [&](const JobSpec& spec, const Allocation& where, std::size_t node) {
    const JobId id = s.Waiting(spec);
    const Bytes before = s->memory_used(NodeId(node));
    s->Start(id, where);
    const Bytes held = s->memory_used(NodeId(node)) - before;
    s->Finish(id, JobState::kFinished);
    EXPECT_EQ(s->memory_used(NodeId(node)), before) << "it holds none once it is over";
    return held / GiB(1);
  };
  EXPECT_EQ(reserved({}, OnGpus({0}), 0), 0) << "nobody knows, nobody asked";
  EXPECT_EQ(reserved({.host_gib = 10}, OnGpus({0}), 0), 10);
  EXPECT_EQ(reserved({.host_gib = 10, .asked_host_gib = 12}, OnGpus({0}), 0), 12);
  EXPECT_EQ(reserved({.host_gib = 10, .asked_host_gib = 8}, OnGpus({0}), 0), 10);
  EXPECT_EQ(reserved({.gpus = 3, .host_gib = 10}, OnGpus({0, 1, 2}), 0), 30) << "believed a GPU";
  EXPECT_EQ(reserved({.gpus = 4, .asked_host_gib = 80}, OnGpus({2, 3, 4, 5}), 1), 40)
      << "asked in all, spread as its GPUs are";
  EXPECT_EQ(reserved({.gpus = 0, .host_gib = 10, .asked_host_gib = 20}, OnNode(1, 1), 1), 20);
  EXPECT_EQ(reserved({.host_gib = 300}, OnGpus({0}), 0), 100) << "belief asks for no more than all";
  EXPECT_EQ(reserved({.host_gib = 10, .asked_host_gib = 12}, OnGpus({6}), 2), 0)
      << "what a node does not state is not counted";
}

TEST(HostMemory, OfAPausedJobIsHeldTogetherWithWhatItHadOnItsGpus) {
  fixtures::SnapshotBuilder s(fixtures::ClusterBuilder().Node(2).Memory(64).Build());
  const JobId id = s.Running(fixtures::JobSpec{.gpus = 2, .gib = 10, .host_gib = 4}, {0, 1});
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(8));
  s->Pause(id);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(28));
  s->SetPaused(id, fixtures::OnGpus({0, 1}));
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(28)) << "said again";
  s->Start(id, fixtures::OnGpus({0, 1}));
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(8));
  s->Pause(id);
  s->SetPaused(id, std::nullopt);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(0)) << "its process is gone";
  s->SetPaused(id, fixtures::OnGpus({0, 1}));
  s->Finish(id, core::JobState::kFailed);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(0));
}

TEST(HostMemory, FollowsWhatIsLearntOfARunningJob) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Memory(100).Build());
  const JobId id = s.Running({.host_gib = 10}, {0});
  const JobId cpu = s.RunningOnNode({.gpus = 0, .host_gib = 5}, 0, 1);
  Estimate more = s->job(id).estimate;
  more.on[0].demand.host_memory = GiB(30);
  more.host_memory_upper = 1.5;
  s->SetEstimate(id, more, true);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(50));
  EXPECT_EQ(s->cpu_only_memory(NodeId(0)), GiB(5));
  s->Stop(id);
  s->SetEstimate(id, more, true);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(5)) << "who waits holds none";
  s->Finish(cpu, JobState::kFinished);
  EXPECT_EQ(s->memory_used(NodeId(0)), GiB(0));
}

}  // namespace
}  // namespace sharewell::core
