#include "report/measure/profile_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/measure/sample_charts.h"

namespace sharewell::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr core::UnixMillis kStart = 1'800'000'000'000;

core::ProfileRecord Record() {
  core::ProfileRecord record;
  record.name = "resnet50";
  record.created = kStart;
  record.warmup = core::Seconds(4);
  record.window = core::Seconds(5);
  record.environment = {{"os", "Debian"}, {"node", "n1"}};
  return record;
}

SeriesRead Series(const char* metric, const char* instance, core::MetricKind kind,
                  std::vector<double> values) {
  SeriesRead read{{{"n1", metric, instance, ""}, "", kind, 0, 0, 0}, {}, 60, {}, {}};
  core::UnixMillis at = kStart;
  for (const double value : values) {
    read.buckets.push_back({at, value, value, value, value, 1, at});
    at += 1000;
  }
  return read;
}

TEST(ProfileCharts, AreOfTheRunAndItsMachine) {
  EXPECT_EQ(ProfileRange(Record()).from, kStart);
  EXPECT_EQ(ProfileRange(Record()).to, kStart + 10'000) << "warm-up, window and a second";
  EXPECT_EQ(ProfileNode(Record()), "n1");
  EXPECT_EQ(ProfileNode({}), "");
  EXPECT_TRUE(IsInProfileCharts("gpu_memory_total_bytes"));
  EXPECT_FALSE(IsInProfileCharts("load1"));
  EXPECT_FALSE(IsInProfileCharts(""));
}

TEST(ProfileCharts, DrawWhatWasSampledAndNameWhatWasNot) {
  using enum core::MetricKind;
  const auto drawn =
      DrawProfileCharts(Record(), {Series("cpu_busy_ratio", "", kGauge, {0.2, 0.4}),
                                   Series("gpu_busy_ratio", "0", kGauge, {0.9, 0.95}),
                                   Series("rapl_package_joules", "0", kCounter, {100, 250, 400}),
                                   Series("gpu_memory_used_bytes", "0", kGauge, {4e9}),
                                   Series("gpu_memory_total_bytes", "0", kGauge, {16e9}),
                                   Series("memory_used_bytes", "", kGauge, {4e9}),
                                   Series("cpu_frequency_hertz", "10", kGauge, {2.4e9}),
                                   Series("cpu_frequency_hertz", "2", kGauge, {2.0e9})});
  std::vector<std::string> names;
  for (const ProfileChart& chart : drawn.charts) names.push_back(chart.name);
  EXPECT_THAT(names, ElementsAre("cpu-gpu-power", "cpu-gpu-busy", "cpu-gpu-memory", "cpu-clock"));
  EXPECT_THAT(drawn.missing, ElementsAre("CPU temperature", "disk reads and writes",
                                         "memory intensity: DRAM accesses by 100 instructions"));
  EXPECT_THAT(drawn.charts[0].svg, HasSubstr("resnet50: CPU and GPU power"));
  EXPECT_THAT(drawn.charts[1].svg, HasSubstr(">GPU 0<"));
  EXPECT_THAT(drawn.charts[2].svg, HasSubstr(">GPU memory 0<"));
  EXPECT_THAT(drawn.charts[2].svg, Not(HasSubstr(">host memory<"))) << "of how much is not known";
  const std::string& clocks = drawn.charts[3].svg;
  EXPECT_LT(clocks.find(">CPU 2<"), clocks.find(">CPU 10<"));
}

TEST(SampleCharts, ASeriesIsOfAJobByItsNameItsGpusOrTheMachine) {
  core::JobRecord job;
  job.number = 17;
  job.gpus = {{3, "GPU-abc", "H200"}};
  const auto is_of = [&job](const char* metric, const char* instance, const char* of) {
    return IsOfJob(job, {"n1", metric, instance, of});
  };
  EXPECT_TRUE(is_of("job_cores", "", "job 17"));
  EXPECT_FALSE(is_of("job_cores", "", "job 1"));
  EXPECT_TRUE(is_of("gpu_busy_ratio", "3", ""));
  EXPECT_TRUE(is_of("gpu_busy_ratio", "GPU-abc", ""));
  EXPECT_FALSE(is_of("gpu_busy_ratio", "0", ""));
  EXPECT_TRUE(is_of("cpu_busy_ratio", "", ""));
}

}  // namespace
}  // namespace sharewell::report
