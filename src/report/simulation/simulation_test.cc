#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/simulation/simulation_csv.h"
#include "report/simulation/simulation_json.h"
#include "report/simulation/simulation_table.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

simulation::Summary SummaryOf(const std::string& policy) {
  simulation::Summary s;
  s.policy = policy;
  s.jobs = 3;
  s.finished = 2;
  s.infeasible = 1;
  s.makespan = 5000;
  s.jct.mean = 90;
  return s;
}

TEST(SimulationTable, ShowsOnlyKindsOfEndThatHappened) {
  const std::string text = SimulationTable({"t",
                                            "c",
                                            "1 H200 on 1 node",
                                            1,
                                            "exact",
                                            "exact",
                                            {"so"},
                                            {SummaryOf("slot"), SummaryOf("pack")}});
  EXPECT_THAT(text, HasSubstr("jobs infeasible"));
  EXPECT_THAT(text, Not(HasSubstr("jobs failed")));
  EXPECT_THAT(text, HasSubstr("1h 23m"));
  EXPECT_THAT(text, HasSubstr("\nnote: so\n"));
}

TEST(SimulationTable, BreaksIntoTablesThatFit) {
  SimulationReport report;
  for (char c = 'a'; c < 'm'; ++c) report.results.push_back(SummaryOf(std::string(20, c)));
  const std::string text = SimulationTable(report, 100);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(DisplayWidth(std::string_view(text).substr(at, end - at)), 100U);
    at = end + 1;
  }
  for (const auto& result : report.results) EXPECT_THAT(text, HasSubstr(result.policy));
}

TEST(SimulationJson, UnknownIsNullAndBrokenTextIsReplaced) {
  const std::string text = SimulationJson(
      {"bad\xff", "c", "", 18446744073709551615ULL, "exact", "unknown", {}, {SummaryOf("slot")}});
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["trace"], "bad\xef\xbf\xbd");
  EXPECT_EQ(json["seed"], 18446744073709551615ULL);
  EXPECT_EQ(json["results"][0]["makespan_seconds"], 5000);
  EXPECT_TRUE(json["results"][0]["energy_kwh"].is_null());
  EXPECT_EQ(json["results"][0]["jobs_infeasible"], 1);
}

class SimulationCsv : public ::testing::Test {
 protected:
  SimulationCsv() {
    core::GpuModel model;
    model.name = "H200";
    core::Node node;
    node.name = "n,0";  // must be quoted
    node.model = core::GpuModelId(0);
    node.gpus = 2;
    core::Node second = node;
    second.name = "n1";
    scenario_.cluster = core::Cluster({model}, {node, second});
    scenario_.users = {"ana"};
    scenario_.workloads.push_back({"resnet", 32, "bf16", 4});
    for (std::size_t i = 0; i < 2; ++i) {
      core::Job job;
      job.id = core::JobId(i);
      job.name = "j" + std::to_string(i);
      job.user = core::UserId(0);
      job.submit = core::Seconds(10);
      scenario_.jobs.push_back(job);
    }
    scenario_.jobs[0].workload = core::WorkloadId(0);
    simulation_.outcomes.resize(2);
    auto& first = simulation_.outcomes[0];
    first.end = sim::JobOutcome::End::kFinished;
    first.first_start = core::Seconds(15);
    first.finish = core::Seconds(45);
    first.run_time = core::Seconds(30);
    first.undisturbed = core::Seconds(20);
    first.last_model = core::GpuModelId(0);
    simulation_.outcomes[1].end = sim::JobOutcome::End::kInfeasible;
  }
  simulation::Scenario scenario_;
  simulation::Simulation simulation_;
};

TEST_F(SimulationCsv, TellsEachJobsFate) {
  EXPECT_EQ(
      JobsCsv(scenario_, simulation_),
      "id,user,workload,gpus,submit_seconds,first_start_seconds,finish_seconds,end,run_seconds,"
      "queue_seconds,jct_seconds,slowdown,ooms,moves,gpu_model\n"
      "j0,ana,resnet,1,10,15,45,finished,30,5,35,1.5,0,0,H200\n"
      "j1,ana,,1,10,,,infeasible,,,,,0,0,\n");
}

TEST_F(SimulationCsv, TellsEachDecision) {
  namespace reason = core::reason;
  simulation_.decisions = {
      {core::Seconds(15),
       core::JobId(0),
       "start",
       {{core::GpuId(1), core::GpuId(2)}, {}, 4.5},
       reason::IdleGpu{}},
      {core::Seconds(15), core::JobId(1), "wait", {}, reason::HeldBack{core::JobId(0)}},
      {core::Seconds(16),
       core::JobId(0),
       "start",
       {{core::GpuId(1)}, {}, 2, 0.8},
       reason::IdleGpu{core::JobId(1)}},
  };
  EXPECT_EQ(DecisionsCsv(scenario_, simulation_),
            "time_seconds,job,what,gpus,cores,sm_share,beside,reason\n"
            "15,j0,start,\"n,0:1 n1:0\",4.5,1,,\"an idle GPU, nobody to share with\"\n"
            "15,j1,wait,,,,j0,\"places are being kept for j0, which has waited too long\"\n"
            "16,j0,start,\"n,0:1\",2,0.8,,\"an idle GPU, nobody to share with; at most 80 % of the "
            "SMs, so that short kernels of j1 find room\"\n");
}

TEST(FileNamePart, IsSafe) {
  EXPECT_EQ(FileNamePart("srtf+pack"), "srtf-pack");
  EXPECT_EQ(FileNamePart("../a b"), "___a_b");
  EXPECT_EQ(FileNamePart(""), "_");
}

}  // namespace
}  // namespace sharewell::report
