// A site's own history, simulated before anything is switched on.
#include "simulation/replay/switch_over.h"

#include <gmock/gmock.h>

#include "testing/random_case.h"

namespace sharewell::simulation {
namespace {

using core::Seconds;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// Four small jobs of two users on one GPU, which really ran one after the other.
Scenario OneAfterTheOther() {
  fixtures::Case c =
      fixtures::CaseOf(ClusterBuilder().Node(1).Build(),
                       std::vector<JobSpec>(4, {.seconds = 100, .submit = 0, .busy = 0.3}));
  Scenario s;
  s.cluster = std::move(c.cluster);
  s.jobs = std::move(c.jobs);
  s.truth = std::move(c.truth);
  s.interference = std::move(c.interference);
  s.users = {"ann", "bob", "cai", "dee"};
  for (std::size_t j = 0; j < s.jobs.size(); ++j) {
    s.jobs[j].user = core::UserId(j % 2);
    s.waited.emplace_back(Seconds(static_cast<double>(j) * 100));
  }
  return s;
}

SwitchOverResult Switched(const Scenario& scenario) {
  CompareOptions options;
  options.simulate.belief = {0, 0, 1};
  auto result = SwitchOver(scenario, {"slot", "sharewell"}, std::move(options));
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : SwitchOverResult{};
}

TEST(SwitchOver, PutsWhatReallyHappenedFirst) {
  const SwitchOverResult result = Switched(OneAfterTheOther());
  ASSERT_TRUE(result.really);
  ASSERT_EQ(result.compared.results.size(), 3U);
  const Summary& really = result.compared.results[0];
  EXPECT_EQ(really.policy, "really");
  EXPECT_EQ(really.finished, 4U);
  EXPECT_THAT(really.jct.mean, Optional(DoubleNear(250, 1e-6)));
  EXPECT_THAT(really.queueing.mean, Optional(DoubleNear(150, 1e-6)));
  EXPECT_THAT(really.makespan, Optional(DoubleNear(400, 1e-6)));
  EXPECT_THAT(really.allocated, Optional(DoubleNear(1, 1e-6)));
  EXPECT_NEAR(really.gpu_hours, 400.0 / 3600, 1e-9);
  EXPECT_FALSE(really.busy) << "nobody knows";
  // The slot policy is what was done there, and it is said how near it comes.
  EXPECT_THAT(result.notes, Contains(HasSubstr("slot stands for what is done today: its mean "
                                               "completion time is 0 % above")));
}

TEST(SwitchOver, TellsWhoGainsAndWhoLoses) {
  const SwitchOverResult result = Switched(OneAfterTheOther());
  ASSERT_EQ(result.changes.size(), 1U);
  const PolicyChange& change = result.changes[0];
  EXPECT_EQ(change.policy, "sharewell");
  EXPECT_EQ(change.sooner + change.later + change.same, 4U);
  EXPECT_GE(change.sooner, 2U) << "those that waited for others";
  ASSERT_TRUE(change.jct_mean);
  EXPECT_LT(*change.jct_mean, -0.1);
  ASSERT_EQ(result.users.size(), 2U) << "those that have jobs";
  EXPECT_EQ(result.users[0].jobs, 2U);
  ASSERT_EQ(result.users[0].jct_mean.size(), 3U);
  EXPECT_LT(*result.users[1].jct_mean[2], *result.users[1].jct_mean[1]);
}

TEST(SwitchOver, WithoutAPastOnlyPoliciesAreCompared) {
  Scenario scenario = OneAfterTheOther();
  scenario.waited.clear();
  const SwitchOverResult result = Switched(scenario);
  EXPECT_FALSE(result.really);
  EXPECT_EQ(result.compared.results.front().policy, "slot");
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("does not tell how long jobs really waited")));
}

TEST(SwitchOver, JobsThatTheClusterCannotHoldAreSaid) {
  Scenario scenario = OneAfterTheOther();
  scenario.jobs[3].gpus = 5;
  EXPECT_THAT(Switched(scenario).notes, Contains(HasSubstr("1 job can never run on this cluster")));
}

TEST(SwitchOver, ATodayThatIsFarFromTheTruthIsSaid) {
  Scenario scenario = OneAfterTheOther();
  for (auto& waited : scenario.waited) waited = Seconds(waited->value + 10'000);
  EXPECT_THAT(Switched(scenario).notes, Contains(HasSubstr("That is far off")));
}

}  // namespace
}  // namespace sharewell::simulation
