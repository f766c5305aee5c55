// A summary's figures against sums made by hand.
#include "simulation/summary.h"

#include <gtest/gtest.h>

#include "simulation/simulate.h"
#include "testing/random_case.h"

namespace sharewell::simulation {
namespace {

using fixtures::ClusterBuilder;
using fixtures::JobSpec;

Summary Of(core::Cluster cluster, const std::vector<JobSpec>& specs,
           const std::string& policy = "slot") {
  fixtures::Case c = fixtures::CaseOf(std::move(cluster), specs);
  Scenario s;
  s.cluster = std::move(c.cluster);
  s.jobs = std::move(c.jobs);
  s.truth = std::move(c.truth);
  s.interference = std::move(c.interference);
  s.users = {"ann", "bob"};
  SimulateOptions options;
  options.belief = {0, 0, 1};
  return Simulate(s, policy, options).value().summary;
}

TEST(Summary, TimesAreOfSubmitStartAndFinish) {
  // One GPU: 0-100, 100-150, 150-160.
  const Summary s =
      Of(ClusterBuilder().Node(1).Build(),
         {{.seconds = 100}, {.seconds = 50, .submit = 20}, {.seconds = 10, .submit = 30}});
  EXPECT_EQ(s.jobs, 3U);
  EXPECT_DOUBLE_EQ(*s.makespan, 160);
  EXPECT_DOUBLE_EQ(*s.jct.mean, (100 + 130 + 130) / 3.0);
  EXPECT_DOUBLE_EQ(*s.jct.p50, 130);
  EXPECT_DOUBLE_EQ(*s.queueing.mean, (0 + 80 + 120) / 3.0);
  EXPECT_DOUBLE_EQ(*s.run.mean, 160 / 3.0);
  EXPECT_DOUBLE_EQ(s.gpu_hours, 160 / 3600.0);
  EXPECT_DOUBLE_EQ(*s.allocated, 1);
  EXPECT_DOUBLE_EQ(*s.busy, 0.5);
  EXPECT_DOUBLE_EQ(*s.slowdown_mean, 1);
  EXPECT_FALSE(s.energy_kwh) << "the GPU's power is not known";
}

TEST(Summary, UtilisationIsOverAllGpusAndTheWholeMakespan) {
  const Summary s = Of(ClusterBuilder().Model("A").Power(50, 300).Node(2).Build(),
                       {{.seconds = 100, .busy = 0.8, .watts = 250}});
  EXPECT_DOUBLE_EQ(*s.busy, 0.4);
  EXPECT_DOUBLE_EQ(*s.allocated, 0.5);
  EXPECT_NEAR(*s.energy_kwh, (250 + 50) * 100 / 3.6e6, 1e-12);
}

TEST(Summary, FairnessIsOfCompletionOverTimeAlone) {
  // ann is served at once, bob waits as long as he runs.
  const Summary s = Of(ClusterBuilder().Node(1).Build(),
                       {{.seconds = 100, .user = 0}, {.seconds = 100, .user = 1}});
  EXPECT_DOUBLE_EQ(*s.finish_time_fairness, 2);
  EXPECT_DOUBLE_EQ(*s.jain, 1.5 * 1.5 / (2 * (1 + 0.25)));
}

TEST(Summary, CountsEndsAndResubmissions) {
  const Summary s = Of(ClusterBuilder().Node(1).Build(),
                       {{.seconds = 20, .gib = 40}, {.seconds = 100}, {.gpus = 3}});
  EXPECT_EQ(s.failed, 1U);
  EXPECT_EQ(s.finished, 1U);
  EXPECT_EQ(s.infeasible, 1U);
  EXPECT_EQ(s.unfinished, 0U);
  EXPECT_EQ(s.ooms, 1U);
  EXPECT_EQ(s.resubmissions, 0U) << "who failed for good was not resubmitted";
}

TEST(Summary, CoresAreMeansOverTheMakespan) {
  const Summary s = Of(ClusterBuilder().Node(2).Cores(16).Build(),
                       {{.seconds = 100, .wants_cores = 2, .cores = 6},
                        {.seconds = 50, .wants_cores = 4, .cores = 6}});
  EXPECT_DOUBLE_EQ(*s.cores_reserved, (6 * 100 + 6 * 50) / 100.0);
  EXPECT_DOUBLE_EQ(*s.cores_used, (2 * 100 + 4 * 50) / 100.0);
}

TEST(Summary, OfNothingKnowsNothing) {
  const Summary s = Of(ClusterBuilder().Node(1).Build(), {});
  EXPECT_FALSE(s.makespan);
  EXPECT_FALSE(s.jct.mean);
  EXPECT_FALSE(s.busy);
  EXPECT_FALSE(s.jain);
}

}  // namespace
}  // namespace sharewell::simulation
