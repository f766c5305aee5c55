#include "simulation/simulate.h"

#include <gmock/gmock.h>

#include "testing/random_case.h"

namespace sharewell::simulation {
namespace {

using core::JobId;
using core::Seconds;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using End = sim::JobOutcome::End;

Scenario ScenarioOf(core::Cluster cluster, const std::vector<JobSpec>& specs) {
  fixtures::Case c = fixtures::CaseOf(std::move(cluster), specs);
  Scenario s;
  s.cluster = std::move(c.cluster);
  s.jobs = std::move(c.jobs);
  s.truth = std::move(c.truth);
  s.interference = std::move(c.interference);
  s.users = {"ann", "bob", "cai", "dee"};
  return s;
}

SimulateOptions Exact() {
  SimulateOptions options;
  options.belief = {0, 0, 1};
  options.keep_decisions = true;
  return options;
}

Simulation RunOf(const Scenario& scenario, const std::string& policy,
                 const SimulateOptions& options = Exact()) {
  auto simulation = Simulate(scenario, policy, options);
  EXPECT_TRUE(simulation) << simulation.error().message;
  return *std::move(simulation);
}

TEST(Simulate, RunsFromTheFirstSubmissionToTheLastFinish) {
  const Scenario s = ScenarioOf(ClusterBuilder().Node(1).Build(),
                                {{.seconds = 100, .submit = 10}, {.seconds = 50, .submit = 20}});
  const Simulation run = RunOf(s, "slot");
  EXPECT_EQ(run.summary.policy, "slot");
  EXPECT_EQ(run.summary.finished, 2U);
  EXPECT_DOUBLE_EQ(*run.summary.makespan, 150);
  EXPECT_EQ(run.outcomes[1].finish, Seconds(160));
  std::vector<std::string> rows;
  for (const auto& row : run.decisions)
    rows.push_back(std::to_string(static_cast<int>(row.time.value)) + " " + row.what + " " +
                   std::to_string(row.job.value));
  EXPECT_THAT(rows, ElementsAre("10 start 0", "20 wait 1", "110 start 1"));
}

TEST(ComparePolicies, TellsOfEachAndNamesTheOneThatIsUnknown) {
  const Scenario s =
      ScenarioOf(ClusterBuilder().Node(1).Build(), {{.seconds = 100}, {.seconds = 50}});
  std::vector<std::string> told;
  CompareOptions options{Exact()};
  options.done = [&](const std::string& policy, const Simulation& run) {
    told.push_back(policy + " " + std::to_string(run.outcomes.size()));
  };
  const auto compared = ComparePolicies(s, {"slot", "pack"}, options);
  ASSERT_TRUE(compared) << compared.error().message;
  ASSERT_EQ(compared->results.size(), 2U);
  EXPECT_EQ(compared->results[0].policy, "slot");
  EXPECT_FALSE(compared->results[0].distance_from_optimal);
  EXPECT_THAT(told, ElementsAre("slot 2", "pack 2"));

  const auto wrong = ComparePolicies(s, {"slto"}, {Exact()});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("slto"));
}

TEST(Simulate, KeepsDecisionsOnlyWhenAsked) {
  const Scenario s = ScenarioOf(ClusterBuilder().Node(1).Build(), {{}});
  SimulateOptions options = Exact();
  options.keep_decisions = false;
  EXPECT_TRUE(RunOf(s, "slot", options).decisions.empty());
}

TEST(Simulate, StopsWhereItIsTold) {
  const Scenario s = ScenarioOf(ClusterBuilder().Node(1).Build(), {{.seconds = 100}, {}});
  SimulateOptions options = Exact();
  options.until = Seconds(50);
  const Simulation run = RunOf(s, "slot", options);
  EXPECT_EQ(run.summary.unfinished, 2U);
  EXPECT_EQ(run.summary.finished, 0U);
}

TEST(Simulate, AnUnknownPolicyIsAUsageError) {
  const auto run = Simulate(ScenarioOf(ClusterBuilder().Node(1).Build(), {{}}), "sharwell", {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(run.error().message, HasSubstr("sharwell"));
}

TEST(Simulate, ToldOfAnImpossibleJobItSaysSoAndGoesOn) {
  const Scenario s = ScenarioOf(ClusterBuilder().Node(1).Build(), {{.gpus = 5}, {.seconds = 9}});
  const Simulation run = RunOf(s, "sharewell");
  EXPECT_EQ(run.outcomes[0].end, End::kInfeasible);
  EXPECT_EQ(run.outcomes[1].end, End::kFinished);
  EXPECT_EQ(run.summary.infeasible, 1U);
}

TEST(Simulate, AnEmptyTraceIsNoTrouble) {
  const Simulation run = RunOf(ScenarioOf(ClusterBuilder().Node(1).Build(), {}), "sharewell");
  EXPECT_EQ(run.summary.jobs, 0U);
  EXPECT_FALSE(run.summary.makespan);
}

TEST(Simulate, AWrongBeliefLeavesTheTruthAlone) {
  // The policy believes a wrong duration; the job still takes what it takes.
  const Scenario s = ScenarioOf(ClusterBuilder().Node(1).Build(), {{.seconds = 1000}});
  SimulateOptions options = Exact();
  options.belief = {0.5, 1.0, 3};
  EXPECT_DOUBLE_EQ(*RunOf(s, "sharewell", options).summary.makespan, 1000);
}

TEST(Simulate, SharingTwoLightJobsBeatsSlots) {
  const Scenario s = ScenarioOf(
      ClusterBuilder().Node(1).Build(),
      std::vector<JobSpec>(3, JobSpec{.seconds = 1000, .busy = 0.25, .sm = 0.2, .dram = 0.05}));
  EXPECT_LT(*RunOf(s, "sharewell").summary.makespan, 0.6 * *RunOf(s, "slot").summary.makespan);
}

}  // namespace
}  // namespace sharewell::simulation
