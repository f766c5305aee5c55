#include "api/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "api/metrics/escape.h"

namespace sharewell::api {
namespace {

using core::Basis;
using core::Metric;
using core::MetricKind;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Metric kBusy{.name = "gpu_busy_ratio",
                       .unit = "ratio",
                       .instance = "gpu",
                       .help = "How busy it is",
                       .exported = "DCGM_FI_DEV_GPU_UTIL",
                       .export_scale = 100};
constexpr Metric kUser{.name = "cpu_user_seconds",
                       .unit = "seconds",
                       .kind = MetricKind::kCounter,
                       .instance = "cpu",
                       .help = "User time.",
                       .exported = "node_cpu_seconds_total",
                       .export_labels = "mode=\"user\""};
constexpr Metric kIdle{.name = "cpu_idle_seconds",
                       .unit = "seconds",
                       .kind = MetricKind::kCounter,
                       .instance = "cpu",
                       .help = "Idle time.",
                       .exported = "node_cpu_seconds_total",
                       .export_labels = "mode=\"idle\""};
constexpr Metric kJobSm{
    .name = "job_gpu_sm_ratio", .unit = "ratio", .instance = "gpu", .help = "Its SM share"};
constexpr Metric kJobSmPart{.name = "job_gpu_sm_apportioned_ratio",
                            .unit = "ratio",
                            .instance = "gpu",
                            .help = "Its part",
                            .exported = "sharewell_job_gpu_sm_ratio",
                            .basis = Basis::kApportioned};
constexpr Metric kJobCpu{.name = "job_cpu_seconds",
                         .unit = "seconds",
                         .kind = MetricKind::kCounter,
                         .instance = "",
                         .help = "Its CPU time\nby \\ group"};

class ManualClock : public control::Clock {
 public:
  std::chrono::nanoseconds Steady() override { return now; }
  core::UnixMillis Wall() override { return 0; }
  std::chrono::nanoseconds now = std::chrono::seconds(1000);
};

class ExpositionTest : public ::testing::Test {
 protected:
  void Take(const std::string& collector, std::vector<core::Reading> readings, bool up = true) {
    control::CollectorState state;
    state.name = collector;
    state.interval = core::Seconds(1);
    state.standing =
        up ? control::CollectorState::Standing::kWorks : control::CollectorState::Standing::kDown;
    page_.Take(state, std::make_shared<core::Batch>(core::Batch{0, std::move(readings)}));
  }
  std::string Text() const { return page_.Text({}); }

  ManualClock clock_;
  int looked_ = 0, looked_for_pods_ = 0;
  std::map<std::string, PodLabels> pods_;
  Exposition page_{"host-1",
                   [this] {
                     ++looked_;
                     return std::vector<GpuLabels>{
                         {"0", "GPU-1f", "00000000:01:00.0", "nvidia0", "NVIDIA H200"}};
                   },
                   clock_,
                   [this] {
                     ++looked_for_pods_;
                     return pods_;
                   }};
};

TEST_F(ExpositionTest, WhatIsToldOfAPodNamesItAndItsNamespace) {
  pods_ = {{"pod/1f", {"team", "train-a"}}};
  Take("nvml", {{&kJobSmPart, "0", "pod/1f", 0.5}, {&kJobSm, "0", "pod/2e", 0.25}});
  EXPECT_THAT(Text(),
              HasSubstr("sharewell_job_gpu_sm_ratio{job=\"pod/1f\",namespace=\"team\",pod="
                        "\"train-a\",gpu=\"0\",UUID=\"GPU-1f\",basis=\"apportioned\"} 0.5\n"));
  EXPECT_THAT(Text(), HasSubstr("sharewell_job_gpu_info{job=\"pod/1f\",namespace=\"team\",pod="
                                "\"train-a\",gpu=\"0\",UUID=\"GPU-1f\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("sharewell_job_gpu_sm_ratio{job=\"pod/2e\",gpu=\"0\","))
      << "nobody knows its name yet";
  pods_["pod/2e"] = {"team", "train-b"};
  Take("nvml", {{&kJobSm, "0", "pod/2e", 0.25}});
  EXPECT_EQ(looked_for_pods_, 1) << "not every second";
  clock_.now += std::chrono::seconds(6);
  Take("nvml", {{&kJobSm, "0", "pod/2e", 0.25}});
  EXPECT_EQ(looked_for_pods_, 2);
  EXPECT_THAT(Text(), HasSubstr("{job=\"pod/2e\",namespace=\"team\",pod=\"train-b\","));
  Take("nvml", {{&kJobSm, "0", "train", 0.25}});
  clock_.now += std::chrono::seconds(6);
  Take("nvml", {{&kJobSm, "0", "train", 0.25}});
  EXPECT_EQ(looked_for_pods_, 2) << "there are but jobs that are no pods";
}

TEST_F(ExpositionTest, AGpuHasTheNameScaleAndLabelsOfDcgmExporter) {
  Take("nvml", {{&kBusy, "0", "", 0.97}});
  EXPECT_THAT(Text(), HasSubstr("# HELP DCGM_FI_DEV_GPU_UTIL How busy it is. Unit: percent.\n"
                                "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                                "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1f\",pci_bus_id="
                                "\"00000000:01:00.0\",device=\"nvidia0\",modelName=\"NVIDIA H200\","
                                "hostname=\"host-1\"} 97\n"));
  EXPECT_EQ(looked_, 1);
  Take("nvml", {{&kBusy, "0", "", 0.07}});  // times 100 it is 7.000000000000001
  EXPECT_THAT(Text(), HasSubstr("} 7\n"));
  EXPECT_EQ(looked_, 1);
  Take("nvml", {{&kBusy, "7", "", 0.5}});  // not known: looked for, but not every second
  EXPECT_EQ(looked_, 1);
  clock_.now += std::chrono::seconds(61);
  Take("nvml", {{&kBusy, "7", "", 0.5}});
  EXPECT_EQ(looked_, 2);
  EXPECT_THAT(Text(), HasSubstr("{gpu=\"7\",hostname=\"host-1\"} 50\n"));
}

TEST_F(ExpositionTest, APartOfAGpuIsToldApart) {
  Take("gpm", {{&kBusy, "0:3", "", 1}});
  EXPECT_THAT(Text(), HasSubstr("{gpu=\"0\",UUID=\"GPU-1f\","));
  EXPECT_THAT(Text(), HasSubstr(",GPU_I_ID=\"3\",hostname=\"host-1\"} 100\n"));
}

TEST_F(ExpositionTest, OneNameForSeveralMetricsIsExplainedOnce) {
  Take("cpu", {{&kUser, "0", "", 12.5}, {&kIdle, "0", "", 100}, {&kUser, "1", "", 3}});
  EXPECT_THAT(Text(), HasSubstr("# HELP node_cpu_seconds_total mode=\"user\": User time. Unit: "
                                "seconds. mode=\"idle\": Idle time. Unit: seconds.\n"
                                "# TYPE node_cpu_seconds_total counter\n"
                                "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 12.5\n"
                                "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\n"
                                "node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 3\n"));
}

TEST_F(ExpositionTest, AJobsFiguresSayTheirBasisAndDevicesStayFreeOfJobs) {
  Take("nvml", {{&kBusy, "0", "", 1},
                {&kBusy, "0", "train", 0.4},
                {&kJobSm, "0", "train", 0.25},
                {&kJobSmPart, "0", "other", 0.125}});
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("sharewell_job_gpu_sm_ratio{job=\"train\",gpu=\"0\",UUID=\"GPU-1f\","
                              "basis=\"measured\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("sharewell_job_gpu_sm_ratio{job=\"other\",gpu=\"0\",UUID=\"GPU-1f\","
                              "basis=\"apportioned\"} 0.125\n"));
  EXPECT_THAT(text, HasSubstr("sharewell_gpu_busy_ratio{job=\"train\",gpu=\"0\","));
  EXPECT_THAT(text,
              HasSubstr("sharewell_job_gpu_info{job=\"other\",gpu=\"0\",UUID=\"GPU-1f\"} 1\n"
                        "sharewell_job_gpu_info{job=\"train\",gpu=\"0\",UUID=\"GPU-1f\"} 1\n"));
}

TEST_F(ExpositionTest, HostileNamesDoNotBreakThePage) {
  Take("job", {{&kJobCpu, "", "a\"} 1\nevil{x=\"\\", 2}, {&kJobCpu, "", "\xff\xc0\x80\x01", 3}});
  const std::string text = Text();
  EXPECT_THAT(text,
              HasSubstr("sharewell_job_cpu_seconds_total{job=\"a\\\"} 1\\nevil{x=\\\"\\\\\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("{job=\"????\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("Its CPU time by \\\\ group. Unit: seconds.\n"));
}

TEST_F(ExpositionTest, TheSameSeriesIsThereOnce) {
  Take("job", {{&kJobCpu, "", "\x01", 1}, {&kJobCpu, "", "\x02", 2}});
  EXPECT_THAT(Text(), HasSubstr("{job=\"?\"} 1\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("{job=\"?\"} 2\n")));
}

TEST_F(ExpositionTest, WhatFailsOrIsOldIsLeftOut) {
  Take("cpu", {{&kUser, "0", "", 1}});
  Take("nvml", {{&kBusy, "0", "", 1}});
  Take("nvml", {}, false);
  EXPECT_THAT(Text(), Not(HasSubstr("DCGM")));
  EXPECT_THAT(Text(), HasSubstr("node_cpu"));
  clock_.now += std::chrono::seconds(3);
  EXPECT_THAT(Text(), HasSubstr("node_cpu"));
  clock_.now += std::chrono::seconds(1);
  EXPECT_THAT(Text(), Not(HasSubstr("node_cpu")));
}

TEST_F(ExpositionTest, UnknownIsNoNumber) {
  Take("cpu", {{&kUser, "0", "", std::numeric_limits<double>::quiet_NaN()},
               {&kUser, "1", "", std::numeric_limits<double>::infinity()}});
  EXPECT_THAT(Text(), Not(HasSubstr("node_cpu")));
}

TEST_F(ExpositionTest, TheAgentTellsItsOwnCost) {
  AgentFigures agent;
  agent.collectors.resize(3);
  agent.collectors[0].name = "cpu";
  agent.collectors[0].standing = control::CollectorState::Standing::kWorks;
  agent.collectors[0].asked = 7;
  agent.collectors[0].last_duration = core::Seconds(0.25);
  agent.collectors[1].name = "nvml";
  agent.collectors[1].standing = control::CollectorState::Standing::kDown;
  agent.collectors[1].asked = agent.collectors[1].errors = 2;
  agent.collectors[2].name = "never";
  agent.cost = {core::Seconds(1.5), core::Bytes(2e7)};
  agent.store = control::StoreWriterState{.up = true, .problem = "", .written = 12, .dropped = 3};
  agent.version = "1.2";
  const std::string text = page_.Text(agent);
  for (const char* line :
       {"sharewell_collector_up{collector=\"cpu\"} 1\n",
        "sharewell_collector_up{collector=\"nvml\"} 0\n",
        "sharewell_collector_duration_seconds{collector=\"cpu\"} 0.25\n",
        "sharewell_collector_errors_total{collector=\"nvml\"} 2\n",
        "# TYPE sharewell_agent_cpu_seconds_total counter\nsharewell_agent_cpu_seconds_total 1.5\n",
        "sharewell_agent_resident_bytes 20000000\n", "sharewell_store_up 1\n",
        "sharewell_store_samples_written_total 12\n", "sharewell_store_samples_dropped_total 3\n",
        "sharewell_build_info{version=\"1.2\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("never")));
}

TEST(LabelValue, KeepsWholeCharactersOnly) {
  EXPECT_EQ(LabelValue("größe 日本 😀"), "größe 日本 😀");
  EXPECT_EQ(LabelValue("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(LabelValue("\xf4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(LabelValue("\xe2\x82"), "??");            // cut short
}

}  // namespace
}  // namespace sharewell::api
