#include "research/optimum/compare.h"

#include <gmock/gmock.h>

#include "research/optimum/optimal.h"
#include "testing/random_case.h"

namespace sharewell::research {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

simulation::Scenario TwoJobs() {
  fixtures::Case c = fixtures::CaseOf(fixtures::ClusterBuilder().Node(1).Build(),
                                      {{.seconds = 100}, {.seconds = 50}});
  simulation::Scenario s;
  s.cluster = std::move(c.cluster);
  s.jobs = std::move(c.jobs);
  s.truth = std::move(c.truth);
  s.interference = std::move(c.interference);
  s.users = {"ann", "bob", "cai", "dee"};
  return s;
}

TEST(CompareWithOptima, JudgesEachByItsDistanceFromTheOptimum) {
  std::vector<std::string> told;
  simulation::CompareOptions options;
  options.simulate.belief = {0, 0, 1};
  options.done = [&](const std::string& policy, const simulation::Simulation& run) {
    told.push_back(policy + " " + std::to_string(run.outcomes.size()));
  };
  const auto compared =
      CompareWithOptima(TwoJobs(), {"optimal", "slot", "optimal-shared"}, options);
  ASSERT_TRUE(compared) << compared.error().message;
  ASSERT_EQ(compared->results.size(), 3U);
  EXPECT_EQ(compared->results[0].policy, "optimal");
  EXPECT_EQ(compared->results[1].policy, "slot");
  EXPECT_EQ(compared->results[2].policy, "optimal-shared");
  EXPECT_NEAR(compared->results[1].distance_from_optimal.value_or(-1), 0, 1e-6);
  EXPECT_GE(compared->results[1].distance_from_shared_optimum.value_or(-1), -1e-6);
  EXPECT_THAT(told, ElementsAre("slot 2")) << "an optimum is solved, not simulated";
}

TEST(CompareWithOptima, NamesThePolicyThatIsUnknown) {
  const auto wrong = CompareWithOptima(TwoJobs(), {"optimal", "slto"}, {});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("slto"));
}

}  // namespace
}  // namespace sharewell::research
