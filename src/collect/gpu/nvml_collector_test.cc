#include "collect/gpu/nvml_collector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "collect/metrics/gpu_metrics.h"
#include "testing/recorded_nvml.h"

namespace sharewell::collect {
namespace {

using core::Reading;
using fixtures::RecordedNvml;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;

std::optional<double> ValueOf(const std::vector<Reading>& readings, const core::Metric& metric,
                              const std::string& instance = "0", const std::string& job = "") {
  for (const Reading& reading : readings) {
    if (reading.metric == &metric && reading.instance == instance && reading.job == job) {
      return reading.value;
    }
  }
  return std::nullopt;
}

class Jobs : public JobSource {
 public:
  explicit Jobs(std::vector<RunningJob> jobs) : jobs_(std::move(jobs)) {}
  const std::vector<RunningJob>& Running() override { return jobs_; }

 private:
  std::vector<RunningJob> jobs_;
};

// A capture with such GPUs in such steps: steps[i] is the list of the GPUs in step i.
std::string CaptureOf(int gpus, const std::vector<std::string>& steps,
                      const std::string& more = "") {
  std::string facts, list;
  for (int i = 0; i < gpus; ++i) {
    facts += fmt::format(R"({}{{"name":"Test GPU","uuid":"GPU-{}","gpm":1}})", i > 0 ? "," : "", i);
  }
  for (const std::string& step : steps) {
    list += fmt::format(R"({}{{"t":{},"gpus":[{}]}})", list.empty() ? "" : ",", list.size(), step);
  }
  return fmt::format(R"({{"system":{{"driver":"1.2","cuda":13000}},"gpus":[{}],"steps":[{}]{}}})",
                     facts, list, more);
}

class NvmlCollectorTest : public ::testing::Test {
 protected:
  // What one round reads; the rounds before left nothing of another step behind.
  std::vector<Reading> Round(int step) {
    nvml_.Step(step);
    std::vector<Reading> readings;
    auto answer = collector_->Collect(readings);
    error_ = answer ? "" : answer.error().message;
    return readings;
  }
  void Start(const std::string& capture, JobSource* jobs = nullptr) {
    nvml_.LoadText(capture);
    collector_ = NewNvmlCollector(RecordedNvml::Library(), jobs);
  }

  RecordedNvml nvml_;
  std::unique_ptr<Collector> collector_;
  std::string error_;
};

TEST_F(NvmlCollectorTest, ReadsWhatAnH200Says) {
  nvml_.Load("tests/fixtures/nvml/h200-idle.json");
  collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
  EXPECT_EQ(collector_->Probe().what, "1 GPU: NVIDIA H200, driver 580.159.04");
  EXPECT_EQ(collector_->Probe().state, Health::State::kWorks);
  const auto readings = Round(3);
  EXPECT_EQ(error_, "");
  EXPECT_THAT(ValueOf(readings, kGpuBusy), Optional(0.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryTotal), Optional(150754820096.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryReserved), Optional(644939776.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryUsed), Optional(0.0));
  EXPECT_THAT(ValueOf(readings, kGpuPower), Optional(105.8));
  EXPECT_THAT(ValueOf(readings, kGpuEnergy), Optional(2859.573));
  EXPECT_TRUE(ValueOf(readings, kGpuSmClock).has_value());
  EXPECT_TRUE(ValueOf(readings, kGpuMemoryTemperature).has_value());
  EXPECT_THAT(ValueOf(readings, kGpuThrottledPower), Optional(0.0));
  EXPECT_THAT(ValueOf(readings, kGpuEccUncorrected), Optional(0.0));
  EXPECT_THAT(ValueOf(readings, kGpuProcesses), Optional(0.0));
  EXPECT_EQ(ValueOf(readings, kGpuLastXid), std::nullopt);
  // GPM says it better.
  EXPECT_EQ(ValueOf(readings, kGpuPcieReceived), std::nullopt);
}

TEST_F(NvmlCollectorTest, ScalesIntoBaseUnits) {
  Start(CaptureOf(1, {R"({"power":250500,"energy":1500,"clock_sm":1980,"clock_memory":3201,
      "temperature":41,"throttle_reasons":4,"violations":{"power":2500000000,"thermal":0},
      "ecc_corrected":3,"ecc_uncorrected":1,"remapped_rows":[1,2,0,1],"encoder":50,"decoder":25,
      "pcie_replays":7,"utilization":{"gpu":80,"memory":30},"fields":{"82":{"type":1,"value":44}}})"}));
  const auto readings = Round(0);
  EXPECT_THAT(ValueOf(readings, kGpuPower), Optional(250.5));
  EXPECT_THAT(ValueOf(readings, kGpuEnergy), Optional(1.5));
  EXPECT_THAT(ValueOf(readings, kGpuSmClock), Optional(1.98e9));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryClock), Optional(3.201e9));
  EXPECT_THAT(ValueOf(readings, kGpuTemperature), Optional(41.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryTemperature), Optional(44.0));
  EXPECT_THAT(ValueOf(readings, kGpuThrottleReasons), Optional(4.0));
  EXPECT_THAT(ValueOf(readings, kGpuThrottledPower), Optional(2.5));
  EXPECT_THAT(ValueOf(readings, kGpuThrottledThermal), Optional(0.0));
  EXPECT_EQ(ValueOf(readings, kGpuThrottledBoard), std::nullopt);
  EXPECT_THAT(ValueOf(readings, kGpuEccCorrected), Optional(3.0));
  EXPECT_THAT(ValueOf(readings, kGpuEccUncorrected), Optional(1.0));
  EXPECT_THAT(ValueOf(readings, kGpuRemappedRowsCorrected), Optional(1.0));
  EXPECT_THAT(ValueOf(readings, kGpuRemappedRows), Optional(2.0));
  EXPECT_THAT(ValueOf(readings, kGpuRowRemapFailed), Optional(1.0));
  EXPECT_THAT(ValueOf(readings, kGpuEncoder), Optional(0.5));
  EXPECT_THAT(ValueOf(readings, kGpuDecoder), Optional(0.25));
  EXPECT_THAT(ValueOf(readings, kGpuPcieReplays), Optional(7.0));
  EXPECT_THAT(ValueOf(readings, kGpuBusy), Optional(0.8));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryBusy), Optional(0.3));
}

TEST_F(NvmlCollectorTest, BusyIsTheMeanOfManyLooks) {
  Start(CaptureOf(1, {R"({"utilization":{"gpu":20,"memory":0}})",
                      R"({"utilization":{"gpu":90,"memory":40}})"}));
  Round(0);
  // Looked at in both steps: somewhere between.
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  nvml_.Step(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  const auto mixed = ValueOf(Round(1), kGpuBusy);
  ASSERT_TRUE(mixed.has_value());
  EXPECT_GE(*mixed, 0.2);
  EXPECT_LE(*mixed, 0.9);
  // From now on there is nothing but the second.
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  EXPECT_THAT(ValueOf(Round(1), kGpuBusy), Optional(DoubleNear(0.9, 1e-9)));
}

TEST_F(NvmlCollectorTest, WhatAGpuDoesNotHaveIsLeftOutAndNotAskedForAgain) {
  Start(CaptureOf(1, {R"({"power":100000,"temperature":{"error":3},"clock_sm":{"error":999}})"}));
  const auto readings = Round(0);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(ValueOf(readings, kGpuPower).has_value());
  EXPECT_EQ(ValueOf(readings, kGpuTemperature), std::nullopt);
  EXPECT_EQ(ValueOf(readings, kGpuSmClock), std::nullopt);
  EXPECT_EQ(ValueOf(readings, kGpuEnergy), std::nullopt);
  EXPECT_EQ(ValueOf(readings, kGpuMemoryUsed), std::nullopt);
  const long before = nvml_.Calls();
  Round(0);
  // power, both clocks, rates, two lists of processes, samples of processes, events; and the
  // poller.
  EXPECT_LE(nvml_.Calls() - before, 20);
}

TEST_F(NvmlCollectorTest, ARoundTakesFewCalls) {
  nvml_.Load("tests/fixtures/nvml/h200-idle.json");
  collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
  Round(0);
  const long before = nvml_.Calls();
  Round(1);
  EXPECT_LE(nvml_.Calls() - before, 35);
}

TEST_F(NvmlCollectorTest, AGpuThatIsLostVanishesAndComesBack) {
  const std::string fine = R"({"power":100000})";
  Start(CaptureOf(2, {fine + "," + fine, R"({"error":15},)" + fine, R"({"error":15},)" + fine,
                      fine + "," + fine}));
  auto readings = Round(0);
  EXPECT_TRUE(ValueOf(readings, kGpuPower, "0").has_value());
  for (const int step : {1, 2}) {
    readings = Round(step);
    EXPECT_EQ(ValueOf(readings, kGpuPower, "0"), std::nullopt);
    EXPECT_THAT(ValueOf(readings, kGpuPower, "1"), Optional(100.0));
    EXPECT_THAT(error_, HasSubstr("GPU 0: the GPU has fallen off the bus"));
    EXPECT_THAT(error_, HasSubstr("nvidia-smi --gpu-reset"));
    EXPECT_EQ(collector_->Probe().state, Health::State::kPartly);
  }
  readings = Round(3);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(ValueOf(readings, kGpuPower, "0").has_value());
}

TEST_F(NvmlCollectorTest, NoGpuAnswersAtAll) {
  Start(CaptureOf(1, {R"({"power":1})", R"({"error":15})"}));
  Round(0);
  EXPECT_TRUE(Round(1).empty());
  EXPECT_THAT(error_, HasSubstr("fallen off the bus"));
  EXPECT_EQ(collector_->Probe().state, Health::State::kAbsent);
}

TEST_F(NvmlCollectorTest, ADriverThatIsUnloadedIsOpenedAnewLater) {
  Start(CaptureOf(1, {R"({"power":1})", R"({"error":1})"}));
  Round(0);
  EXPECT_TRUE(Round(1).empty());
  EXPECT_THAT(error_, HasSubstr("opened again"));
  // Not at once: that may load kernel modules.
  EXPECT_TRUE(Round(0).empty());
  EXPECT_THAT(error_, HasSubstr("opened again"));
}

TEST_F(NvmlCollectorTest, ALibraryThatDoesNotStartSaysWhatToDo) {
  nvml_.LoadText(R"({"gpus":[{}],"steps":[{"t":0,"init":18,"gpus":[{}]}]})");
  collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
  EXPECT_TRUE(Round(0).empty());
  EXPECT_THAT(error_, HasSubstr("of different versions"));
  EXPECT_THAT(error_, HasSubstr("restart the machine"));
  EXPECT_EQ(collector_->Probe().mend, "reboot");
}

TEST_F(NvmlCollectorTest, NoLibraryNoGpuNoNvml) {
  std::vector<Reading> readings;
  auto answer = NewNvmlCollector("/nonexistent/libnvidia-ml.so.1", nullptr)->Collect(readings);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(answer.error().message, HasSubstr("/nonexistent/libnvidia-ml.so.1"));
  EXPECT_THAT(answer.error().message, HasSubstr("SHAREWELL_NVML_LIBRARY"));
  EXPECT_EQ(NewNvmlCollector("/nonexistent/libnvidia-ml.so.1", nullptr)->Probe().state,
            Health::State::kAbsent);

  answer = NewNvmlCollector("libm.so.6", nullptr)->Collect(readings);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("is not NVIDIA's management library"));

  Start(CaptureOf(0, {""}));
  Round(0);
  EXPECT_THAT(error_, HasSubstr("no GPU"));
}

TEST_F(NvmlCollectorTest, AnXidIsToldOnceAndKept) {
  Start(CaptureOf(1, {R"({"power":1})", R"({"power":1,"xids":[31,48]})", R"({"power":1})"}));
  EXPECT_EQ(ValueOf(Round(0), kGpuLastXid), std::nullopt);
  EXPECT_THAT(ValueOf(Round(1), kGpuLastXid), Optional(48.0));
  EXPECT_THAT(error_, HasSubstr("GPU 0 reports XID 31"));
  EXPECT_THAT(error_, HasSubstr("XID 48"));
  EXPECT_THAT(ValueOf(Round(2), kGpuLastXid), Optional(48.0));
  EXPECT_EQ(error_, "");
}

TEST_F(NvmlCollectorTest, PcieComesFromAThreadWhereThereIsNoGpm) {
  nvml_.LoadText(R"({"gpus":[{"gpm":0}],
      "steps":[{"t":0,"gpus":[{"power":1,"pcie_sent":2,"pcie_received":10}]}]})");
  collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
  EXPECT_EQ(ValueOf(Round(0), kGpuPcieReceived), std::nullopt);
  std::optional<double> received, sent;
  for (int tries = 0; tries < 200 && !received; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto readings = Round(0);
    received = ValueOf(readings, kGpuPcieReceived);
    sent = ValueOf(readings, kGpuPcieSent);
  }
  EXPECT_THAT(received, Optional(10 * 1024.0));
  EXPECT_THAT(sent, Optional(2 * 1024.0));
}

TEST_F(NvmlCollectorTest, MigInstancesHaveTheirOwnMemory) {
  nvml_.LoadText(R"({"gpus":[{"mig_mode":[1,1],"max_migs":7}],"steps":[{"t":0,"gpus":[{
      "memory":{"total":100,"reserved":5,"free":60,"used":35},
      "migs":[{"gpu_instance":3,"memory":{"total":40,"reserved":1,"free":29,"used":10}},
              {"gpu_instance":3,"memory":{"total":40,"reserved":1,"free":29,"used":10}},
              {"gpu_instance":1,"memory":{"total":50,"reserved":1,"free":24,"used":25}}]}]}]})");
  collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
  const auto readings = Round(0);
  EXPECT_THAT(ValueOf(readings, kGpuMemoryUsed, "0"), Optional(35.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryUsed, "0:1"), Optional(25.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryUsed, "0:3"), Optional(10.0));
  EXPECT_THAT(ValueOf(readings, kGpuMemoryTotal, "0:3"), Optional(40.0));
  EXPECT_EQ(std::count_if(readings.begin(), readings.end(),
                          [](const Reading& r) { return r.instance == "0:3"; }),
            2);
}

TEST_F(NvmlCollectorTest, ACaptureOfNonsenseIsSurvived) {
  for (const char* text :
       {R"({"gpus":[{}],"steps":[{"t":0,"gpus":[{"power":"high","memory":[],"processes":3,
            "process_samples":{"a":1},"utilization":{"gpu":900,"memory":1}}]}]})",
        R"({"gpus":[{}],"steps":[{"t":0,"gpus":[{"remapped_rows":[1],"violations":[],
            "fields":[],"mig_mode":[1,1],"max_migs":9}]}]})",
        R"({"gpus":[{},{}],"steps":[{"t":0,"gpus":[]}]})", R"([])", ""}) {
    nvml_.LoadText(text);
    collector_ = NewNvmlCollector(RecordedNvml::Library(), nullptr);
    for (const Reading& reading : Round(0)) EXPECT_TRUE(reading.metric == &kGpuProcesses) << text;
  }
}

}  // namespace
}  // namespace sharewell::collect
