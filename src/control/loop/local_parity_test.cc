// Parity: the same scenario through the simulated engine and through the local one gives the same
// decisions, byte for byte. The local engine has stub processes and a manual clock (StubRunner).
//
// A simulated engine knows a job's new pace in the instant it changes; from real steps it shows
// seconds later. So the stubs' pace is told to the engine, and counts until steps have been told
// for a while after a change; the work done so far comes from the steps.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "control/loop/test_parity.h"
#include "engine/live/live_engine.h"
#include "testing/policies.h"
#include "testing/simulated_case.h"
#include "testing/stub_runner.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Seconds;
using fixtures::Case;
using fixtures::Dice;
using fixtures::JobSpec;

DecisionLog DecideLocally(const Case& c, const std::string& name) {
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
  DecisionLog log = Decide(c, name, engine);
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

// One machine; with two models two, as a machine has GPUs of one.
Case RandomScenario(std::uint64_t seed, std::size_t models) {
  Dice dice(seed);
  fixtures::ClusterBuilder builder;
  for (std::size_t m = 0; m < models; ++m) builder.Model(m == 0 ? "A" : "B");
  for (std::size_t m = 0; m < models; ++m) builder.Node(4, m).Cores(32);
  std::vector<JobSpec> specs;
  double submit = 0;
  const int jobs = dice.Between(40, 100);
  for (int j = 0; j < jobs; ++j) {
    specs.push_back(RandomSpec(dice, models));
    specs.back().submit = submit;
    if (!dice.Chance(0.3)) submit += dice.Uniform(0, 120);
  }
  return fixtures::CaseOf(builder.Build(), specs);
}

TEST(LocalParity, TheSameDecisionsAsTheSimulatedEngine) {
  std::size_t stops = 0, moves = 0, ooms = 0, cpu_jobs = 0;
  for (const std::size_t models : {std::size_t(1), std::size_t(2)}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Case c = RandomScenario(seed, models);
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
  EXPECT_GT(stops, 100U) << "preemptions are among it";
  EXPECT_GT(moves, 10U);
  EXPECT_GT(ooms, 10U);
  EXPECT_GT(cpu_jobs, 10U);
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

}  // namespace
}  // namespace sharewell::control
