// What shares of projects promise, on random histories: while somebody of a project below its share
// waits, nobody of one above its share is started where he could have been; what a project does not
// use, others have; who is overtaken for a day is started, whatever his project.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "control/loop/loop.h"
#include "core/projects.h"
#include "testing/policies.h"
#include "testing/random_case.h"
#include "testing/sanitized.h"
#include "testing/simulated_case.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::JobView;
using core::ProjectId;
using core::Snapshot;
using fixtures::Case;
using fixtures::CaseOf;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::kFewer;
using Shares = std::vector<core::Ratio>;

class ExactEstimator : public Estimator {
 public:
  explicit ExactEstimator(const Case& c) : case_(c) {}
  core::Estimate Believe(const core::Job& job) const override {
    return sim::Believe(job, case_.truth[job.id.index()], case_.belief);
  }
  core::Estimate Told(const core::Job& job) const override { return Believe(job); }
  core::Estimate Measured(const core::Job& job) override { return Believe(job); }

 private:
  const Case& case_;
};

// Looks at each plan as somebody who knows nothing of how it was made.
class ShareWatch : public Recorder {
 public:
  explicit ShareWatch(Shares shares) : shares_(std::move(shares)) {}

  core::Result<void> OnPlan(const Snapshot& snapshot, const core::Plan& plan) override {
    const double gpus = static_cast<double>(snapshot.cluster().gpu_count());
    const auto before = core::GpusInUse(snapshot, shares_.size());
    auto after = before;
    std::vector<JobId> started;
    for (const auto& start : plan.starts) {
      const core::Job& job = snapshot.job(start.job).job;
      after[job.project.index()] += job.gpus;
      started.push_back(start.job);
    }
    for (const JobId first : started) {
      const core::Job& job = snapshot.job(first).job;
      if (job.gpus == 0 || before[job.project.index()] < Share(job, gpus) - 1e-6) continue;
      for (const JobId id : snapshot.waiting()) {
        const core::Job& waits = snapshot.job(id).job;
        if (std::find(started.begin(), started.end(), id) != started.end()) continue;
        if (std::binary_search(plan.infeasible.begin(), plan.infeasible.end(), id)) continue;
        const bool below = after[waits.project.index()] < Share(waits, gpus) - 1e-6;
        if (!below || waits.gpus != job.gpus || waits.priority < job.priority) {
          continue;
        }
        if (broken.empty()) {
          broken = fmt::format(
              "at {} of {} GPUs job {} ({} GPUs) of project {} (has {}) was started, and job {} "
              "of {} (has {}, of {}) waited",
              snapshot.now().value, gpus, first.value, job.gpus, job.project.value,
              before[job.project.index()], id.value, waits.project.value,
              after[waits.project.index()], Share(waits, gpus));
        }
      }
      ++borrowed;
    }
    return {};
  }
  void OnDecision(core::Seconds) override {}

  std::string broken;
  int borrowed = 0;  // starts of projects that have their share

 private:
  double Share(const core::Job& job, double gpus) const {
    return shares_[job.project.index()] * gpus;
  }
  const Shares shares_;
};

// Likewise of plans that stop jobs for a project below its share.
class ReclaimWatch : public Recorder {
 public:
  explicit ReclaimWatch(Shares shares) : shares_(std::move(shares)) {}

  core::Result<void> OnPlan(const Snapshot& snapshot, const core::Plan& plan) override {
    const double gpus = static_cast<double>(snapshot.cluster().gpu_count());
    const auto before = core::GpusInUse(snapshot, shares_.size());
    auto after = before;
    std::map<JobId, int> freed, of_the_smallest;  // by whom it is for
    std::map<JobId, std::set<core::NodeId>> nodes;
    std::vector<bool> loses(shares_.size());
    for (const auto& stop : plan.stops) {
      const JobView& view = snapshot.job(stop.job);
      const auto* why = std::get_if<core::reason::Reclaimed>(&stop.reason);
      if (why == nullptr) return Break(snapshot, "somebody is stopped for something else");
      after[view.job.project.index()] -= view.job.gpus;
      loses[view.job.project.index()] = true;
      for (const core::GpuId gpu : view.allocation.gpus) {
        nodes[why->by].insert(snapshot.cluster().NodeOf(gpu));
      }
      const core::Job& job = snapshot.job(why->by).job;
      freed[why->by] += view.job.gpus;
      const int least = of_the_smallest.try_emplace(why->by, view.job.gpus).first->second;
      of_the_smallest[why->by] = std::min(least, view.job.gpus);
      if (job.priority < view.job.priority) Break(snapshot, "a higher priority goes");
      const double ran = (snapshot.now() - view.since).value;
      if (ran < 600 * std::exp2(runs_[stop.job]) - 1e-6) Break(snapshot, "a run is disturbed");
      ++runs_[stop.job];
      ++reclaims;
    }
    for (const auto& start : plan.starts) {
      const core::Job& job = snapshot.job(start.job).job;
      after[job.project.index()] += job.gpus;
    }
    for (std::size_t p = 0; p < shares_.size(); ++p) {
      if (loses[p] && after[p] < shares_[p] * gpus - 1e-6) {
        Break(snapshot, "a project is below its share");
      }
    }
    for (const auto& [id, sum] : freed) {
      const core::Job& job = snapshot.job(id).job;
      if (before[job.project.index()] >= shares_[job.project.index()] * gpus - 1e-6) {
        Break(snapshot, "it is for a project that has its share");
      }
      if (nodes[id].size() == 1 && sum - of_the_smallest[id] >= job.gpus)
        Break(snapshot, "more go than must");
      if (std::none_of(plan.starts.begin(), plan.starts.end(),
                       [&, for_whom = id](const auto& start) { return start.job == for_whom; })) {
        Break(snapshot, "somebody goes for a job that is not started");
      }
    }
    return {};
  }
  void OnDecision(core::Seconds) override {}

  std::string broken;
  int reclaims = 0;

 private:
  core::Result<void> Break(const Snapshot& snapshot, const char* what) {
    if (broken.empty()) broken = fmt::format("at {}: {}", snapshot.now().value, what);
    return {};
  }
  const Shares shares_;
  std::map<JobId, int> runs_;  // that were stopped
};

std::vector<sim::JobOutcome> RunWatched(const Case& c, const std::string& name,
                                        const Shares& shares, Recorder& watch,
                                        bool reclaim = false) {
  policy::Options options;
  options.project_shares = shares;
  options.projects_reclaim = reclaim;
  options.interference = &c.interference;
  const auto policy = fixtures::MakePolicy(name, options);
  fixtures::SimulatedCase simulated(c);
  Snapshot snapshot(c.cluster, core::Seconds(30));
  ExactEstimator estimator(c);
  Loop loop(snapshot, *policy, simulated.engine, estimator, watch);
  while (true) {
    const auto more = loop.Turn();
    EXPECT_TRUE(more) << more.error().message;
    if (!more || !*more) break;
  }
  return simulated.world.outcomes();
}

// Whole GPUs of one model and enough of all else, so that it can be said from outside who could
// have had a place: who wants as many GPUs (five over two nodes are no place for four on one).
// Nodes are kept for gangs by `sharewell` alone: there everybody wants one GPU.
TEST(ProjectLaws, NobodyAboveItsShareIsStartedWhereOneBelowCouldBe) {
  int borrowed = 0;
  for (const char* name : {"slot", "fair+slot", "sjf+slot", "drain+slot", "decreasing+slot",
                           "fair+sjf+slot", "sharewell"}) {
    const bool gangs = std::string_view(name) != "sharewell";
    for (std::uint64_t seed = 1; seed <= 300 / kFewer; ++seed) {
      SCOPED_TRACE(fmt::format("{}, case {}", name, seed));
      Case c = fixtures::RandomCase(seed, {.most_jobs = 60,
                                           .gangs = gangs,
                                           .constraints = false,
                                           .cpu_only = false,
                                           .misfits = false,
                                           .host_limits = false,
                                           .most_models = 1});
      fixtures::Dice dice(seed);
      for (core::Job& job : c.jobs) {
        job.exclusive = true;
        job.cores.reset();
        job.host_memory.reset();
        job.project = ProjectId(static_cast<std::size_t>(dice.Between(0, 2)));
        job.priority = dice.Chance(0.1) ? 1 : 0;
      }
      const double share = dice.Uniform(0, 0.9);
      const Shares shares = {dice.Chance(0.3) ? 0 : 0.9 - share, share, 0.1};
      ShareWatch watch(shares);
      for (const auto& outcome : RunWatched(c, name, shares, watch)) {
        EXPECT_NE(outcome.end, sim::JobOutcome::End::kUnfinished) << "nobody starves";
      }
      EXPECT_EQ(watch.broken, "");
      borrowed += watch.borrowed;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(borrowed, 100) << "what is not used is borrowed";
}

// Whole GPUs again, and a project's jobs come when others have borrowed all of it.
TEST(ProjectLaws, WhatIsTakenBackIsWhatWasBorrowedAndNobodyStarves) {
  int reclaims = 0;
  for (const char* name : {"slot", "fair+slot", "sjf+slot", "fair+sjf+slot", "sharewell"}) {
    for (std::uint64_t seed = 1; seed <= 200 / kFewer; ++seed) {
      SCOPED_TRACE(fmt::format("{}, case {}", name, seed));
      Case c = fixtures::RandomCase(seed, {.most_jobs = 60,
                                           .constraints = false,
                                           .cpu_only = false,
                                           .misfits = false,
                                           .host_limits = false,
                                           .most_models = 1});
      fixtures::Dice dice(seed);
      for (core::Job& job : c.jobs) {
        job.exclusive = true;
        job.project = ProjectId(static_cast<std::size_t>(dice.Between(0, 2)));
        job.priority = dice.Chance(0.1) ? 1 : 0;
        job.keeps_place = dice.Chance(0.1);
      }
      const double share = dice.Uniform(0, 0.9);
      const Shares shares = {dice.Chance(0.3) ? 0 : 0.9 - share, share, 0.1};
      ReclaimWatch watch(shares), again(shares);
      const auto outcomes = RunWatched(c, name, shares, watch, true);
      const auto same = RunWatched(c, name, shares, again, true);
      for (std::size_t j = 0; j < outcomes.size(); ++j) {
        EXPECT_NE(outcomes[j].end, sim::JobOutcome::End::kUnfinished) << "nobody starves";
        EXPECT_EQ(outcomes[j].finish, same[j].finish) << "the same case, the same end";
        if (c.jobs[j].keeps_place) {
          EXPECT_EQ(outcomes[j].moves, 0);
        }
      }
      EXPECT_EQ(watch.broken, "");
      reclaims += watch.reclaims;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(reclaims, 100 / kFewer) << "it is about something";
}

// Of two GPUs each project has one, and more jobs than it can run, day after day. Of a project
// without a share one job comes: a day later it goes first.
TEST(ProjectLaws, WhoIsOvertakenForADayIsStartedWhateverItsProject) {
  for (const char* name : {"slot", "fair+slot", "sharewell"}) {
    std::vector<JobSpec> specs;
    for (int i = 0; i < 120; ++i) {
      specs.push_back({.seconds = 3600, .submit = i * 1500.0, .exclusive = true, .user = 0});
    }
    for (const std::size_t j : {1UL, 3UL, 5UL}) specs[j].user = 1;
    Case c = CaseOf(ClusterBuilder().Node(2).Build(), specs);
    for (core::Job& job : c.jobs) job.project = ProjectId(1 + job.id.index() % 2);
    core::Job& lone = c.jobs[6];
    lone.project = ProjectId(0);
    const Shares shares = {0, 0.5, 0.5};
    ShareWatch watch(shares);
    const auto outcomes = RunWatched(c, name, shares, watch);
    ASSERT_TRUE(outcomes[6].first_start) << name;
    EXPECT_LT((*outcomes[6].first_start - lone.submit).value, 48 * 3600.0) << name;
  }
}

TEST(ProjectLaws, SharesOfABusyClusterAreThoseOfTheSettings) {
  for (const char* name : {"slot", "sharewell"}) {
    std::vector<JobSpec> specs;
    for (int i = 0; i < 64; ++i) specs.push_back({.seconds = 600, .exclusive = true});
    Case c = CaseOf(ClusterBuilder().Node(4).Build(), specs);
    for (core::Job& job : c.jobs) job.project = ProjectId(job.id.index() < 32 ? 1 : 2);
    const Shares shares = {0, 0.75, 0.25};
    ShareWatch watch(shares);
    const auto outcomes = RunWatched(c, name, shares, watch);
    // While both wait the second has one GPU of four; the first's 32 are done after 11 rounds.
    int early = 0;
    for (std::size_t j = 32; j < outcomes.size(); ++j) {
      early += outcomes[j].first_start->value < 6300 ? 1 : 0;
    }
    EXPECT_GE(early, 9) << name;
    EXPECT_LE(early, 13) << name;
    EXPECT_EQ(watch.broken, "") << name;
  }
}

TEST(ProjectLaws, AProjectsUnusedShareIsBorrowed) {
  std::vector<JobSpec> specs(4, JobSpec{.seconds = 100, .exclusive = true});
  Case c = CaseOf(ClusterBuilder().Node(4).Build(), specs);
  for (core::Job& job : c.jobs) job.project = ProjectId(0);
  ShareWatch watch({0, 1});
  for (const auto& outcome : RunWatched(c, "sharewell", {0, 1}, watch)) {
    ASSERT_TRUE(outcome.first_start);
    EXPECT_EQ(outcome.first_start->value, 0) << "nobody of the other project is there";
  }
}

}  // namespace
}  // namespace sharewell::control
