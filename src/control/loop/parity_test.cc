// Parity: the same scenario through the simulated engine, the local one and Slurm's gives the same
// decisions, byte for byte. The local engine has stub processes and a manual clock (StubRunner).
// Slurm is played, on the same clock (SlurmStubRunner): every start is placed, released and seen in
// its queue. tests/slurm/parity_test.py does it with a real one. So is Kubernetes (KubeStubRunner):
// every start is claimed, bound and seen by the watch.
//
// A simulated engine knows a job's new pace in the instant it changes; from real steps it shows
// seconds later. So the stubs' pace is told to the engine, and counts until steps have been told
// for a while after a change; the work done so far comes from the steps.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "control/loop/loop.h"
#include "engine/live/live_engine.h"
#include "testing/guarded_case.h"
#include "testing/kube_stub_runner.h"
#include "testing/plan_text.h"
#include "testing/policies.h"
#include "testing/sanitized.h"
#include "testing/simulated_case.h"
#include "testing/slurm_stub_runner.h"
#include "testing/stub_runner.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Seconds;
using fixtures::Case;
using fixtures::Dice;
using fixtures::JobSpec;

class ExactEstimator : public Estimator {
 public:
  explicit ExactEstimator(const Case& c) : case_(c) {}
  core::Estimate Believe(const core::Job& job) const override {
    return sim::Believe(job, case_.truth[job.id.index()], case_.belief);
  }
  core::Estimate Measured(const core::Job& job) override {
    return sim::Measured(job, case_.truth[job.id.index()], case_.belief);
  }

 private:
  const Case& case_;
};

class DecisionLog : public Recorder {
 public:
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override {
    const std::string actions = fixtures::ActionsOf(plan) + fixtures::WaitsOf(plan);
    if (!actions.empty()) text += fmt::format("{}\n{}", snapshot.now().value, actions);
    stops += plan.stops.size();
    moves += plan.moves.size();
    for (const auto& start : plan.starts) profiles += start.profile ? 1U : 0U;
    return {};
  }
  void OnDecision(Seconds) override {}
  std::string text;
  std::size_t stops = 0, moves = 0, profiles = 0;
};

// `guarded`: the world whose steps the guard reads; null: nobody looks at bounds.
DecisionLog Decide(const Case& c, const std::string& name, engine::Engine& engine,
                   const sim::World* guarded = nullptr) {
  fixtures::GuardedCase guard(c);
  policy::Options options;
  options.interference = &guard.believed;
  const auto policy = fixtures::MakePolicy(name, options);
  core::Snapshot snapshot(c.cluster, Seconds(30));
  ExactEstimator estimator(c);
  DecisionLog log;
  Loop loop(snapshot, *policy, engine, estimator, log);
  if (guarded != nullptr) guard.Watch(loop, *guarded, c.belief.seed);
  for (int turn = 0; turn < 100'000; ++turn) {
    const auto more = loop.Turn();
    EXPECT_TRUE(more) << more.error().message;
    if (!more || !*more) return log;
  }
  ADD_FAILURE() << "it does not end";
  return log;
}

DecisionLog DecideLocally(const Case& c, const std::string& name, bool guarded = false) {
  sim::World world(c.cluster, c.jobs, c.truth, c.interference, {c.belief.seed, Seconds(30)});
  std::vector<core::GivenGpu> gpus;
  for (std::size_t i = 0; i < c.cluster.gpu_count(); ++i) {
    gpus.push_back({static_cast<int>(i), "simulated-" + std::to_string(i), "A"});
  }
  engine::LiveEngine* told = nullptr;
  fixtures::StubRunner runner(
      world,
      [&](const core::Job& job) {
        told->Submit(job, fixtures::StubRunner::RequestOf(job));
        told->SetPace(job.id, {std::nullopt, 0});
      },
      [&](JobId job, core::Ratio rate) {
        told->SetPace(job, {rate > 0 ? std::optional(rate) : std::nullopt, rate});
      });
  engine::LiveEngine engine(c.cluster, gpus, runner, {.grace = Seconds(0)});
  told = &engine;
  DecisionLog log = Decide(c, name, engine, guarded ? &world : nullptr);
  std::set<engine::RunId> ended;
  for (const auto& end : engine.TakeEnded()) {
    EXPECT_TRUE(ended.insert(end.run).second) << "job " << end.run.job << " ended twice";
  }
  EXPECT_EQ(ended.size(), static_cast<std::size_t>(runner.starts())) << "each start has one end";
  EXPECT_EQ(runner.running(), 0U);
  return log;
}

JobSpec RandomSpec(Dice& dice, std::size_t models) {
  JobSpec job;
  job.seconds = dice.LogUniform(20, 4000);
  job.busy = dice.Uniform(0.05, 1);
  job.sm = job.busy * dice.Uniform(0.3, 1);
  job.dram = dice.Uniform(0, 0.6);
  job.gib = dice.Chance(0.05) ? dice.Uniform(10, 20) : dice.LogUniform(0.5, 7.5);
  job.user = static_cast<std::size_t>(dice.Between(0, 3));
  job.wants_cores = dice.Uniform(0.2, 6);
  job.exclusive = dice.Chance(0.1);
  if (dice.Chance(0.5)) job.cores = dice.Between(1, 6);
  if (dice.Chance(0.1)) job.priority = 1;
  if (models > 1) {
    job.rates = {1, dice.Uniform(1, 2)};
    return job;
  }
  if (dice.Chance(0.1)) job.gpus = dice.Between(2, 3);
  if (dice.Chance(0.12)) {
    job.gpus = 0;
    job.exclusive = false;
    job.cores = dice.Between(1, 8);
  }
  return job;
}

using SpecOf = JobSpec (*)(Dice&, std::size_t models);

// One machine; with two models two, as a machine has GPUs of one.
Case RandomScenario(std::uint64_t seed, std::size_t models, double cores, int least_jobs,
                    int most_jobs, SpecOf spec) {
  Dice dice(seed);
  fixtures::ClusterBuilder builder;
  for (std::size_t m = 0; m < models; ++m) builder.Model(m == 0 ? "A" : "B");
  for (std::size_t m = 0; m < models; ++m) builder.Node(4, m).Cores(cores);
  std::vector<JobSpec> specs;
  double submit = 0;
  const int jobs = dice.Between(least_jobs, most_jobs);
  for (int j = 0; j < jobs; ++j) {
    specs.push_back(spec(dice, models));
    specs.back().submit = submit;
    if (!dice.Chance(0.3)) submit += dice.Uniform(0, 120);
  }
  return fixtures::CaseOf(builder.Build(), specs);
}

TEST(LocalParity, TheSameDecisionsAsTheSimulatedEngine) {
  std::size_t stops = 0, moves = 0, ooms = 0, cpu_jobs = 0;
  const std::uint64_t scenarios = fixtures::kSanitized ? 1 : 3;  // `make soak` runs all of them
  for (const std::size_t models : {std::size_t(1), std::size_t(2)}) {
    for (std::uint64_t seed = 1; seed <= scenarios; ++seed) {
      const Case c = RandomScenario(seed, models, 32, 40, 100, RandomSpec);
      for (const std::string& name : fixtures::EveryPolicy()) {
        // Its moves are free by its model, and no process moves for nothing.
        if (name.find("reactive") != std::string::npos) continue;
        SCOPED_TRACE(fmt::format("{}, {} models, scenario {}", name, models, seed));
        fixtures::SimulatedCase simulated(c);
        const DecisionLog expected = Decide(c, name, simulated.engine);
        const DecisionLog local = DecideLocally(c, name);
        ASSERT_EQ(local.text, expected.text);
        stops += local.stops;
        moves += local.moves;
        for (const auto& outcome : simulated.world.outcomes()) {
          ooms += static_cast<std::size_t>(outcome.ooms);
        }
      }
      for (const auto& job : c.jobs) cpu_jobs += job.gpus == 0 ? 1U : 0U;
    }
  }
  EXPECT_GT(stops, 30 * scenarios) << "preemptions are among it";
  EXPECT_GT(moves, 3 * scenarios);
  EXPECT_GT(ooms, 3 * scenarios);
  EXPECT_GT(cpu_jobs, 3 * scenarios);
}

// The guard evicts the same jobs at the same times through both engines.
TEST(LocalParity, TheSameEvictionsAsTheSimulatedEngine) {
  int evictions = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Case c = RandomScenario(seed, 1 + seed % 2, 64, 40, 80, RandomSpec);
    for (const std::string name : {"pack", "complement", "sharewell", "fair+drain+share+slim"}) {
      SCOPED_TRACE(fmt::format("{}, scenario {}", name, seed));
      fixtures::SimulatedCase simulated(c);
      const DecisionLog expected = Decide(c, name, simulated.engine, &simulated.world);
      ASSERT_EQ(DecideLocally(c, name, true).text, expected.text);
      for (const auto& outcome : simulated.world.outcomes()) evictions += outcome.evictions;
    }
  }
  EXPECT_GE(evictions, 10);
}

// A start that asks to be told when it has run alone for a while.
TEST(LocalParity, ProfilesFirst) {
  std::vector<JobSpec> specs(6, JobSpec{.seconds = 50});
  const Case c = fixtures::CaseOf(fixtures::ClusterBuilder().Node(1).Build(), specs);
  fixtures::SimulatedCase simulated(c);
  const DecisionLog expected = Decide(c, "reactive", simulated.engine);
  EXPECT_EQ(DecideLocally(c, "reactive").text, expected.text);
  EXPECT_GT(expected.profiles, 0U);
}

// The same world through a cluster's manager that is played.
template <class ClusterRunner>
struct Through {
  Through(const Case& c, const std::string& name)
      : world(c.cluster, c.jobs, c.truth, c.interference, {c.belief.seed, Seconds(30)}),
        runner(
            c.cluster, world,
            [this, &c](const core::Job& job) {
              live.Submit(job, fixtures::StubRunner::RequestOf(job));
              live.SetPace(job.id, {std::nullopt, 0, Memory(c, job.id)});
            },
            [this, &c](JobId job, core::Ratio rate) {
              live.SetPace(job,
                           {rate > 0 ? std::optional(rate) : std::nullopt, rate, Memory(c, job)});
            }),
        live(c.cluster, runner.gpus, runner, {.grace = Seconds(0)}),
        log(Decide(c, name, live)) {
    std::set<engine::RunId> ended;
    for (const auto& end : live.TakeEnded()) {
      EXPECT_TRUE(ended.insert(end.run).second) << "job " << end.run.job << " ended twice";
    }
    if (!runner.refused) {
      EXPECT_EQ(ended.size(), static_cast<std::size_t>(runner.starts)) << "each start has one end";
    }
  }
  static core::Bytes Memory(const Case& c, JobId job) {
    return sim::Believe(c.jobs[job.index()], c.truth[job.index()], c.belief).gpu_memory_upper;
  }

  sim::World world;
  ClusterRunner runner;
  engine::LiveEngine live;
  DecisionLog log;
};

// CPU-only jobs, and those that want more memory than there is, are not for this one.
JobSpec SlurmSpec(Dice& dice, std::size_t models) {
  JobSpec job;
  job.seconds = dice.LogUniform(20, 4000);
  job.busy = dice.Uniform(0.05, 1);
  job.sm = job.busy * dice.Uniform(0.3, 1);
  job.dram = dice.Uniform(0, 0.6);
  job.gib = dice.LogUniform(0.5, 7.5);
  job.user = static_cast<std::size_t>(dice.Between(0, 3));
  job.wants_cores = dice.Uniform(0.2, 4);
  job.exclusive = dice.Chance(0.1);
  if (dice.Chance(0.5)) job.cores = dice.Between(1, 4);
  if (dice.Chance(0.1)) job.priority = 1;
  if (models > 1) {
    job.rates = {1, dice.Uniform(1, 2)};
  } else if (dice.Chance(0.1)) {
    job.gpus = dice.Between(2, 3);
  }
  return job;
}

// One difference is Slurm's own: a job that comes back to another slot keeps a shard of the one
// that it had (JobNote::Put::kept), and where none is free its start is refused. Up to there, all
// is the same.
TEST(SlurmParity, TheSameDecisionsAsTheSimulatedEngine) {
  int starts = 0;
  std::size_t whole = 0, stops = 0;
  for (const std::size_t models : {std::size_t(1), std::size_t(2)}) {
    const Case c = RandomScenario(models, models, 64, 20, 40, SlurmSpec);
    for (const std::string& name : fixtures::EveryPolicy()) {
      // Its moves are free by its model, and no process moves for nothing.
      if (name.find("reactive") != std::string::npos) continue;
      SCOPED_TRACE(fmt::format("{}, {} models", name, models));
      fixtures::SimulatedCase simulated(c);
      const DecisionLog expected = Decide(c, name, simulated.engine);
      const Through<fixtures::SlurmStubRunner> real(c, name);
      if (real.runner.refused) {
        EXPECT_THAT(expected.text, ::testing::StartsWith(real.log.text));
      } else {
        ASSERT_EQ(real.log.text, expected.text);
        ++whole;
      }
      EXPECT_EQ(real.runner.slurm.wrong, "");
      starts += real.runner.starts;
      stops += real.log.stops + real.log.moves;
    }
  }
  EXPECT_GT(starts, 500);
  EXPECT_GT(whole, 30U);
  EXPECT_GT(stops, 20U) << "preemptions and moves are among it";
}

TEST(KubernetesParity, TheSameDecisionsAsTheSimulatedEngine) {
  int starts = 0;
  std::size_t stops = 0;
  for (const std::size_t models : {std::size_t(1), std::size_t(2)}) {
    const Case c = RandomScenario(models, models, 64, 20, 40, SlurmSpec);
    for (const std::string& name : fixtures::EveryPolicy()) {
      // Its moves are free by its model, and no process moves for nothing.
      if (name.find("reactive") != std::string::npos) continue;
      SCOPED_TRACE(fmt::format("{}, {} models", name, models));
      fixtures::SimulatedCase simulated(c);
      const DecisionLog expected = Decide(c, name, simulated.engine);
      const Through<fixtures::KubeStubRunner> real(c, name);
      ASSERT_EQ(real.runner.why, "") << "a start was refused";
      ASSERT_EQ(real.log.text, expected.text);
      EXPECT_EQ(real.runner.kube.wrong, "");
      starts += real.runner.starts;
      stops += real.log.stops + real.log.moves;
    }
  }
  EXPECT_GT(starts, 500);
  EXPECT_GT(stops, 20U) << "preemptions and moves are among it";
}

}  // namespace
}  // namespace sharewell::control
