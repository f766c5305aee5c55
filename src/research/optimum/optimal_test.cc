#include "research/optimum/optimal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "catalogue/cluster_file.h"
#include "core/numbers/random.h"
#include "simulation/simulate.h"

namespace sharewell::research {
namespace {

simulation::Scenario Small(const std::string& cluster, std::vector<trace::TraceJob> jobs,
                           std::uint64_t seed) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  auto machines = catalogue::ReadCluster(cluster, catalogue);
  EXPECT_TRUE(machines) << machines.error().message;
  auto scenario = simulation::BuildScenario({"test", std::move(jobs), {}}, "test", *machines,
                                            catalogue::BuiltinMeasurements(), catalogue, {1, seed});
  EXPECT_TRUE(scenario) << scenario.error().message;
  return *scenario;
}

std::vector<trace::TraceJob> Drawn(std::size_t count, std::uint64_t seed) {
  std::vector<trace::TraceJob> jobs(count);
  for (std::size_t i = 0; i < count; ++i) {
    jobs[i].id = std::to_string(i);
    jobs[i].duration = core::Seconds(10 + 1000 * core::Uniform(core::HashOf({seed, i})));
  }
  return jobs;
}

double BruteForce(const simulation::Scenario& s, std::size_t job, std::vector<double>& load) {
  if (job == s.jobs.size()) return *std::max_element(load.begin(), load.end());
  double best = 1e18;
  for (std::size_t g = 0; g < load.size(); ++g) {
    const auto model = s.cluster.ModelOf(core::GpuId(g));
    const auto& allowed = s.jobs[job].allowed_models;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), model) == allowed.end())
      continue;
    const double time = s.truth[job].work.value / s.truth[job].on[model.index()].rate;
    load[g] += time;
    best = std::min(best, BruteForce(s, job + 1, load));
    load[g] -= time;
  }
  return best;
}

TEST(Optimal, IsWhatTryingAllAssignmentsFinds) {
  for (const char* cluster : {"3x1xH200", "1x2xV100+1x1xP100", "1x1xH200+2x1xV100", "2x1xH200"}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      auto jobs = Drawn(4 + seed % 4, seed);
      if (std::string(cluster).find("P100") != std::string::npos) jobs[0].gpu_models = {"P100"};
      const simulation::Scenario s = Small(cluster, std::move(jobs), seed);
      std::vector<double> load(s.cluster.gpu_count(), 0);
      const double expected = BruteForce(s, 0, load);
      const auto optimum = SolveOptimal(s);
      ASSERT_TRUE(optimum) << optimum.error().message;
      EXPECT_NEAR(*optimum->summary.makespan, expected, 1e-6 * expected)
          << cluster << ", seed " << seed;
    }
  }
}

TEST(Optimal, NoPolicyThatDoesNotShareEndsSooner) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const simulation::Scenario s = Small("2x1xV100+2x1xP100", Drawn(8, seed), seed);
    const auto optimum = SolveOptimal(s);
    ASSERT_TRUE(optimum) << optimum.error().message;
    EXPECT_EQ(optimum->summary.policy, "optimal");
    EXPECT_EQ(optimum->summary.finished, 8u);
    EXPECT_EQ(optimum->summary.distance_from_optimal, 0.0);
    EXPECT_NEAR(*optimum->summary.slowdown_mean, 1, 1e-9);
    for (const std::string policy : {"slot", "sjf+slot", "fifo+match"}) {
      simulation::SimulateOptions options;
      options.belief = {0, 0, seed};
      auto run = simulation::Simulate(s, policy, options);
      ASSERT_TRUE(run) << run.error().message;
      SetDistance(*optimum, run->summary);
      EXPECT_GE(*run->summary.distance_from_optimal, -1e-9) << policy << ", seed " << seed;
    }
  }
}

TEST(Optimal, HostsThatRunShortAreLeftOut) {
  // Starved of cores a policy is slower; the optimum is that of GPUs alone.
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  auto starved = catalogue::ReadClusterText(
      "[[nodes]]\ngpus = 2\ngpu = \"H200\"\ncores = 1\nmemory_bandwidth_gbs = 1\n", "test",
      catalogue);
  ASSERT_TRUE(starved) << starved.error().message;
  simulation::Scenario s = Small("1x2xH200", Drawn(5, 3), 3);
  const auto free = SolveOptimal(s);
  s.cluster = *starved;
  const auto same = SolveOptimal(s);
  ASSERT_TRUE(free && same);
  EXPECT_NEAR(*free->summary.makespan, *same->summary.makespan, 1e-6 * *free->summary.makespan);
}

TEST(Optimal, RefusesWhatItCannotSolve) {
  const auto message = [](const simulation::Scenario& s) {
    const auto result = SolveOptimal(s);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().kind, core::ErrorKind::kUsage);
    return result.error().message;
  };
  EXPECT_NE(message(Small("2x1xH200", Drawn(17, 1), 1)).find("17 jobs on 2 GPUs are too many"),
            std::string::npos);
  EXPECT_NE(message(Small("9x1xH200", Drawn(2, 1), 1)).find("too many"), std::string::npos);
  auto gang = Drawn(2, 1);
  gang[1].gpus = 2;
  EXPECT_NE(message(Small("1x2xH200", gang, 1)).find("job '1' needs 2 GPUs"), std::string::npos);
  auto later = Drawn(2, 1);
  later[1].submit = core::Seconds(5);
  EXPECT_NE(message(Small("2x1xH200", later, 1)).find("job '1' is submitted later"),
            std::string::npos);
  auto nowhere = Drawn(2, 1);
  nowhere[0].gpu_models = {"K80"};
  EXPECT_NE(message(Small("2x1xH200", nowhere, 1)).find("job '0' can run on no GPU"),
            std::string::npos);
  EXPECT_NE(message(Small("2x1xH200", {}, 1)).find("no job"), std::string::npos);
}

TEST(Optimal, SaysWhenTheTimeIsOver) {
  const simulation::Scenario s = Small("4x1xH200", Drawn(16, 2), 2);
  OptimalOptions options;
  options.time_limit = core::Seconds(0.05);
  const auto result = SolveOptimal(s, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, core::ErrorKind::kFailed);
  EXPECT_NE(result.error().message.find("no proof within 0.05 s"), std::string::npos);
}

}  // namespace
}  // namespace sharewell::research
