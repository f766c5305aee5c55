#include "simulation/scenario.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "catalogue/builtin_measurements.h"
#include "catalogue/cluster_file.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "interference/carry_over.h"

namespace sharewell::simulation {
namespace {

using core::GpuModelId;
using core::Profile;
using core::Seconds;
using core::Workload;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Workload kResnet{"resnet", 64, "fp32", 4};
const Workload kBert{"bert", 8, "fp16", 2};

Profile ProfileOf(const Workload& workload, const std::string& gpu, double busy, double steps) {
  Profile profile;
  profile.workload = workload;
  profile.gpu = gpu;
  profile.busy = busy;
  profile.sm = busy;
  profile.steps_per_second = steps;
  return profile;
}

trace::TraceJob JobNamed(const std::string& id) {
  trace::TraceJob job;
  job.id = id;
  job.duration = Seconds(100);
  return job;
}

class ScenarioTest : public ::testing::Test {
 protected:
  ScenarioTest() {
    trace.format = "csv";
    measurements.profiles = {ProfileOf(kResnet, "V100", 0.9, 10), ProfileOf(kBert, "V100", 0.5, 4)};
  }

  core::Result<Scenario> TryBuild() {
    return BuildScenario(trace, "day.csv", catalogue::ReadCluster(cluster, catalogue).value(),
                         measurements, catalogue, options);
  }
  Scenario Build() {
    auto scenario = TryBuild();
    EXPECT_TRUE(scenario) << scenario.error().message;
    return *std::move(scenario);
  }
  std::string Error() {
    const auto scenario = TryBuild();
    if (scenario) return "no error";
    EXPECT_EQ(scenario.error().kind, core::ErrorKind::kUsage);
    return scenario.error().message;
  }

  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  std::string cluster = "1x2xV100+1x1xP100";
  core::Measurements measurements;
  trace::Trace trace;
  ScenarioOptions options;
};

TEST_F(ScenarioTest, JobsAreNumberedAndUsersNamed) {
  trace.jobs = {JobNamed("a"), JobNamed("b"), JobNamed("c")};
  trace.jobs[0].user = trace.jobs[2].user = "ann";
  trace.jobs[1].submit = Seconds(7);
  trace.jobs[1].priority = 3;
  trace.jobs[2].exclusive = true;
  const Scenario s = Build();
  ASSERT_EQ(s.jobs.size(), 3U);
  EXPECT_EQ(s.jobs[1].id, core::JobId(1));
  EXPECT_EQ(s.jobs[1].name, "b");
  EXPECT_EQ(s.jobs[1].submit, Seconds(7));
  EXPECT_EQ(s.jobs[1].priority, 3);
  EXPECT_TRUE(s.jobs[2].exclusive);
  EXPECT_EQ(s.jobs[0].user, s.jobs[2].user);
  EXPECT_THAT(s.users, ElementsAre("ann", "-"));
}

TEST_F(ScenarioTest, ANamedWorkloadHasItsProfileOnEveryModel) {
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].workload = Workload{"resnet", 0, "", 0};
  const Scenario s = Build();
  EXPECT_EQ(s.workloads[s.jobs[0].workload.index()], kResnet) << "what is stated agrees";
  ASSERT_EQ(s.truth[0].on.size(), 2U);
  EXPECT_EQ(s.truth[0].on[0].rate, 1);
  EXPECT_EQ(s.truth[0].on[0].demand.busy, 0.9);
  EXPECT_LT(s.truth[0].on[1].rate, 1) << "carried over to the P100";
  EXPECT_TRUE(s.truth[0].on[1].demand.known);
  EXPECT_THAT(s.remarks, ElementsAre(HasSubstr("durations are taken as on V100")));
}

TEST_F(ScenarioTest, WhatWasMeasuredOnAModelIsNotCarriedOverToIt) {
  measurements.profiles.push_back(ProfileOf(kResnet, "P100", 0.99, 3));
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].workload = kResnet;
  const Scenario s = Build();
  EXPECT_DOUBLE_EQ(s.truth[0].on[1].rate, 0.3);
  EXPECT_EQ(s.truth[0].on[1].demand.busy, 0.99);
}

TEST_F(ScenarioTest, RatesAreRelativeToTheClustersFirstModel) {
  cluster = "1x1xP100+1x1xV100";
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].workload = kResnet;
  const Scenario s = Build();
  EXPECT_EQ(s.truth[0].on[0].rate, 1);
  EXPECT_GT(s.truth[0].on[1].rate, 1);
}

TEST_F(ScenarioTest, JobsWithoutAWorkloadDrawOneBySeed) {
  for (int k = 0; k < 40; ++k) trace.jobs.push_back(JobNamed(std::to_string(k)));
  const Scenario one = Build();
  std::set<std::uint32_t> drawn;
  for (const auto& job : one.jobs) drawn.insert(job.workload.value);
  EXPECT_EQ(drawn.size(), 2U);
  EXPECT_EQ(Build().jobs, one.jobs) << "the same seed, the same jobs";
  options.seed = 2;
  EXPECT_NE(Build().jobs, one.jobs);
  EXPECT_EQ(
      InWords(one.told),
      "0 of 40 jobs name their workload; 40 are assumed: drawn by seed 1 from the 2 workloads "
      "that were measured (--mix)");
}

TEST_F(ScenarioTest, AMixDrawsByItsWeightsOrTakesAllToBeAlike) {
  for (int k = 0; k < 400; ++k) trace.jobs.push_back(JobNamed(std::to_string(k)));
  trace.jobs[0].workload = kResnet;
  trace.jobs[1].busy = 0.5;
  trace.jobs[2].gpus = 0;
  const Workload other =
      Build().workloads[0] == kResnet ? Build().workloads[1] : Build().workloads[0];
  options.mix.given = "mix.csv";
  options.mix.parts = {{2, kResnet, 3}, {3, other, 1}};
  const Scenario drawn = Build();
  std::size_t resnet = 0;
  for (std::size_t k = 3; k < drawn.jobs.size(); ++k) {
    if (drawn.workloads[drawn.jobs[k].workload.index()] == kResnet) ++resnet;
  }
  EXPECT_NEAR(static_cast<double>(resnet), 0.75 * 397, 30);
  EXPECT_EQ(drawn.told.jobs, 399U);
  EXPECT_EQ(InWords(drawn.told),
            "1 of 399 jobs name their workload; of 1 the trace tells how busy they keep a GPU; 397 "
            "are assumed: drawn by seed 1 from mix.csv's 2 workloads");
  options.mix = {"busy:0.4", 0.4, {}};
  const Scenario busy = Build();
  EXPECT_EQ(busy.truth[5].on[0].demand.busy, 0.4);
  EXPECT_EQ(busy.truth[1].on[0].demand.busy, 0.5) << "what the trace tells stands";
  EXPECT_NE(busy.truth[0].on[0].demand.busy, 0.4);
  EXPECT_THAT(InWords(busy.told), HasSubstr("as if each kept its GPU 40 % busy (--mix busy:0.4)"));
}

TEST_F(ScenarioTest, AMixOfWhatNobodyMeasuredIsRefused) {
  trace.jobs.push_back(JobNamed("a"));
  options.mix.given = "mix.csv";
  options.mix.parts = {{7, {"rsnet50", 0, "", 0}, 1}};
  EXPECT_THAT(Error(), HasSubstr("mix.csv: line 7: there is no measured profile of 'rsnet50'"));
}

TEST_F(ScenarioTest, ACatalogueThatGrowsAtItsEndLeavesWhatWasDrawn) {
  for (int k = 0; k < 40; ++k) trace.jobs.push_back(JobNamed(std::to_string(k)));
  const Scenario before = Build();
  measurements.stand_ins = measurements.profiles.size();
  measurements.profiles.push_back(ProfileOf({"aaa", 1, "fp32", 1}, "V100", 0.5, 4));
  trace.jobs.push_back(JobNamed("named"));
  trace.jobs.back().workload = Workload{"aaa", 0, "", 0};
  const Scenario after = Build();
  for (std::size_t k = 0; k < 40; ++k) {
    EXPECT_EQ(after.jobs[k].workload, before.jobs[k].workload) << "by number too";
  }
  EXPECT_EQ(after.workloads[after.jobs[40].workload.index()].name, "aaa");
}

TEST_F(ScenarioTest, StepsBecomeWorkAtTheReferencesRate) {
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].workload = kResnet;
  trace.jobs[0].duration.reset();
  trace.jobs[0].steps = 500;
  EXPECT_EQ(Build().truth[0].work, Seconds(50));
  options.work_scale = 2;
  EXPECT_EQ(Build().truth[0].work, Seconds(100));
}

TEST_F(ScenarioTest, UnknownWorkloadsNameTheNearestAndWhatToDo) {
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].workload = Workload{"resent", 0, "", 0};
  const std::string message = Error();
  EXPECT_THAT(message, HasSubstr("day.csv: job 'a'"));
  EXPECT_THAT(message, HasSubstr("did you mean 'resnet'"));
  EXPECT_THAT(message, HasSubstr("--profiles"));
}

TEST_F(ScenarioTest, TooManyGpusAreAnErrorInOurFormatAndARemarkInForeignOnes) {
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].gpus = 9;
  EXPECT_THAT(Error(), HasSubstr("it needs 9 GPUs, the cluster has 3"));
  trace.format = "philly";
  EXPECT_THAT(Build().remarks, Contains(HasSubstr("1 jobs need more GPUs")));
}

TEST_F(ScenarioTest, AModelThatTheClusterLacksStaysInTheList) {
  trace.jobs = {JobNamed("a"), JobNamed("b")};
  trace.jobs[0].gpu_models = {"Tesla V100"};
  trace.jobs[1].gpu_models = {"A100"};
  const Scenario s = Build();
  EXPECT_THAT(s.jobs[0].allowed_models, ElementsAre(GpuModelId(0)));
  EXPECT_THAT(s.jobs[1].allowed_models, ElementsAre(GpuModelId())) << "it may run nowhere";
  trace.jobs[1].gpu_models = {"A1OO"};
  EXPECT_THAT(Error(), HasSubstr("job 'b'"));
}

TEST_F(ScenarioTest, CpuOnlyJobsNeedNoWorkload) {
  trace.jobs = {JobNamed("a")};
  trace.jobs[0].gpus = 0;
  trace.jobs[0].cores = 4;
  trace.jobs[0].host_bandwidth = core::GBps(3);
  const Scenario s = Build();
  EXPECT_FALSE(s.jobs[0].workload.valid());
  EXPECT_EQ(s.truth[0].on[0].demand.host_bandwidth, core::GBps(3));
  EXPECT_EQ(s.truth[0].on[0].demand.busy, 0);
}

TEST_F(ScenarioTest, TheTracesOwnMemoryAndShareAreTaken) {
  trace.jobs = {JobNamed("a"), JobNamed("b")};
  trace.jobs[0].workload = kBert;
  trace.jobs[0].gpu_memory = core::GiB(11);
  trace.jobs[1].busy = 0.3;
  const Scenario s = Build();
  EXPECT_EQ(s.truth[0].on[1].demand.gpu_memory, core::GiB(11));
  EXPECT_EQ(s.truth[1].on[0].demand.busy, 0.3);
  EXPECT_THAT(s.remarks, Contains(HasSubstr("1 of 2 jobs have no profile")));
}

TEST_F(ScenarioTest, MeasuredPairsAreSpeedsOverTheRatesAlone) {
  measurements.pairs.push_back({"", kResnet, kBert, 8, 3, true});
  trace.jobs = {JobNamed("a"), JobNamed("b")};
  trace.jobs[0].workload = kResnet;
  trace.jobs[1].workload = kBert;
  const Scenario s = Build();
  const std::vector<interference::Resident> pair{{s.jobs[0].workload, &s.truth[0].on[0].demand, 1},
                                                 {s.jobs[1].workload, &s.truth[1].on[0].demand, 1}};
  EXPECT_TRUE(s.interference.Measured(GpuModelId(0), pair));
  EXPECT_NEAR(s.interference.Speed(GpuModelId(0), pair, 0), 0.8, 1e-6);
  EXPECT_NEAR(s.interference.Speed(GpuModelId(0), pair, 1), 0.75, 1e-6);
  EXPECT_FALSE(s.interference.Measured(GpuModelId(1), pair)) << "measured on the V100";
}

TEST_F(ScenarioTest, APairsOwnRatesAloneGoBeforeTheProfiles) {
  measurements.pairs.push_back({"", kResnet, kBert, 8, 3, true, 16, 4});
  trace.jobs = {JobNamed("a"), JobNamed("b")};
  trace.jobs[0].workload = kResnet;
  trace.jobs[1].workload = kBert;
  const Scenario s = Build();
  const std::vector<interference::Resident> pair{{s.jobs[0].workload, &s.truth[0].on[0].demand, 1},
                                                 {s.jobs[1].workload, &s.truth[1].on[0].demand, 1}};
  EXPECT_NEAR(s.interference.Speed(GpuModelId(0), pair, 0), 0.5, 1e-6);
  EXPECT_NEAR(s.interference.Speed(GpuModelId(0), pair, 1), 0.75, 1e-6);
}

TEST_F(ScenarioTest, APairWithoutAProfileAloneIsAnError) {
  measurements.pairs.push_back({"", kResnet, {"gpt", 1, "bf16", 1}, 8, 3, true});
  EXPECT_THAT(Error(), HasSubstr("names workload 'gpt, batch 1, bf16'"));
}

// The claim of interference/interference.h, on the pairs it was fitted to: how far the modelled
// speeds are from the measured ones, and how far those of the rule of thumb are.
TEST(InterferenceModel, FitsTheMeasuredPairsAsItsHeaderSays) {
  const auto profiles = catalogue::ReadProfiles("data/h200/profiles.csv");
  const auto pairs = catalogue::ReadPairs("data/h200/pairs.csv");
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_TRUE(pairs) << pairs.error().message;
  const auto alone = [&](const Workload& workload) {
    const auto it = std::find_if(profiles->begin(), profiles->end(),
                                 [&](const Profile& p) { return p.workload == workload; });
    EXPECT_NE(it, profiles->end()) << workload.name;
    return *it;
  };
  const interference::Interference model;
  double error = 0, rule_error = 0, squares = 0, sum = 0;
  int speeds = 0;
  ASSERT_EQ(pairs->pairs.size(), 57U);
  for (const auto& pair : pairs->pairs) {
    const Profile a = alone(pair.a);
    const Profile b = alone(pair.b);
    const core::Demand da = interference::DemandOf(a);
    const core::Demand db = interference::DemandOf(b);
    const std::vector<interference::Resident> both{{{}, &da, 1}, {{}, &db, 1}};
    const double measured[] = {pair.steps_per_second_a / *a.steps_per_second,
                               pair.steps_per_second_b / *b.steps_per_second};
    for (std::size_t i = 0; i < 2; ++i) {
      const double speed = std::min(1.0, measured[i]);
      const double modelled = model.Speed(GpuModelId(0), both, i);
      error += std::abs(modelled - speed);
      rule_error += std::abs(std::min(1.0, 1 / (da.busy + db.busy)) - speed);
      const double log = std::log(speed / modelled);
      sum += log;
      squares += log * log;
      ++speeds;
    }
  }
  const double mean = sum / speeds;
  RecordProperty("mean_absolute_error", std::to_string(error / speeds));
  RecordProperty("rule_of_thumb_error", std::to_string(rule_error / speeds));
  RecordProperty("log_residual", std::to_string(std::sqrt(squares / speeds - mean * mean)));
  EXPECT_LE(error / speeds, 0.08);
  EXPECT_NEAR(rule_error / speeds, 0.115, 0.005);
  EXPECT_NEAR(std::sqrt(squares / speeds - mean * mean), model.coefficients().residual, 0.01);
}

TEST(InterferenceModel, ErrsNoMoreOnTheLaterSittingsPairs) {
  std::map<Workload, core::Demand> demands;
  std::set<std::pair<Workload, Workload>> first;
  for (const auto& profile : catalogue::BuiltinMeasurements().profiles) {
    demands.emplace(profile.workload, interference::DemandOf(profile));
  }
  for (const auto& pair : catalogue::FirstSitting().pairs) {
    first.insert({pair.a, pair.b});
    first.insert({pair.b, pair.a});
  }
  std::map<std::pair<Workload, Workload>, std::vector<double>> measured;
  for (const auto& group : catalogue::BuiltinGroups()) {
    const auto& who = group.workloads;
    if (who.size() != 2 || first.contains({who[0], who[1]})) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      measured[{who[k], who[1 - k]}].push_back(
          std::min(1.0, group.steps_per_second[k] / group.alone[k]));
    }
  }
  double error = 0;
  for (const auto& [who, speeds] : measured) {
    const std::vector<interference::Resident> both{{{}, &demands.at(who.first), 1},
                                                   {{}, &demands.at(who.second), 1}};
    double mean = 0;
    for (const double speed : speeds) mean += speed / static_cast<double>(speeds.size());
    error += std::abs(interference::Interference().Speed(GpuModelId(0), both, 0) - mean);
  }
  EXPECT_EQ(measured.size(), 90U) << "45 pairs";
  EXPECT_NEAR(error / static_cast<double>(measured.size()), 0.054, 0.002);
}

}  // namespace
}  // namespace sharewell::simulation
