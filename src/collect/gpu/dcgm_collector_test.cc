#include "collect/gpu/dcgm_collector.h"

#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "collect/metrics/gpu_metrics.h"
#include "testing/recorded_dcgm.h"
#include "testing/recorded_nvml.h"

namespace sharewell::collect {
namespace {

using fixtures::RecordedDcgm;
using fixtures::RecordedNvml;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;
using State = Health::State;

constexpr const char* kA100 = R"({"system":{"driver":"535.1"},"steps":[{"t":0,"gpus":[{}]}],
    "gpus":[{"gpm":0,"uuid":"GPU-a","name":"NVIDIA A100"}]})";
constexpr const char* kA100AndH200 = R"({"steps":[{"t":0,"gpus":[{},{"gpm":{}}]}],
    "gpus":[{"gpm":0,"uuid":"GPU-a"},{"gpm":1,"uuid":"GPU-h"}]})";
constexpr const char* kH200 =
    R"({"steps":[{"t":0,"gpus":[{"gpm":{}}]}],"gpus":[{"gpm":1,"uuid":"GPU-h"}]})";
// The second GPU is there to show that nobody asks DCGM about it.
constexpr const char* kCounts = R"({"gpus":[{"uuid":"GPU-a"},{"uuid":"GPU-h"}],"steps":[
    {"t":0,"gpus":[{"fields":{"1002":0}},{"fields":{"1002":0}}]},
    {"t":1000,"gpus":[{"fields":{"1002":0.2,"1009":100}},{"fields":{"1002":0.9}}]},
    {"t":2000,"gpus":[{"fields":{"1002":0.4,"1009":300}},{"fields":{"1002":0.9}}]}]})";

class DcgmCollectorTest : public ::testing::Test {
 protected:
  void Start(const char* nvml, const std::string& dcgm = RecordedDcgm::Library()) {
    nvml_.LoadText(nvml);
    collector_.reset();
    collector_ = NewDcgmCollector(RecordedNvml::Library(), {dcgm, DcgmConnection::Start::kNever});
  }
  bool Round() {
    readings_.clear();
    const auto answer = collector_->Collect(readings_);
    error_ = answer ? "" : answer.error().message;
    return !readings_.empty();
  }
  // The collector's own thread looks; a busy machine may take its time.
  template <class Condition>
  bool Until(Condition condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  std::optional<double> ValueOf(const core::Metric& metric, const std::string& instance = "0") {
    for (const core::Reading& reading : readings_) {
      if (reading.metric == &metric && reading.instance == instance) return reading.value;
    }
    return std::nullopt;
  }

  RecordedNvml nvml_;
  RecordedDcgm dcgm_;
  std::unique_ptr<Collector> collector_;
  std::vector<core::Reading> readings_;
  std::string error_;
};

TEST_F(DcgmCollectorTest, GivesMeansAndSaysWhoCounted) {
  dcgm_.LoadText(kCounts);
  Start(kA100AndH200);
  EXPECT_GE(collector_->Floor(), core::Seconds(0.1));
  EXPECT_FALSE(Round());
  EXPECT_EQ(error_, "");
  ASSERT_TRUE(Until([&] { return dcgm_.Watches() == 1; })) << "the GPU without GPM alone";
  dcgm_.Step(2);
  ASSERT_TRUE(Until([&] { return Round(); }));
  EXPECT_THAT(ValueOf(kGpuSm), Optional(DoubleNear(0.3, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuGpmPcieSent), Optional(200.0));
  EXPECT_THAT(ValueOf(kGpuActivitySource), Optional(kActivityByDcgm));
  EXPECT_EQ(ValueOf(kGpuSm, "1"), std::nullopt);
  EXPECT_EQ(error_, "");
  EXPECT_FALSE(Round()) << "told once";
  EXPECT_EQ(collector_->Probe().state, State::kWorks);
  collector_.reset();
  EXPECT_EQ(dcgm_.Connections(), 0);
}

TEST_F(DcgmCollectorTest, IsNotOpenedWhereGpmSaysTheSame) {
  dcgm_.LoadText(kCounts);
  Start(kH200);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Round());
    EXPECT_EQ(error_, "") << "nothing is missing";
  }
  EXPECT_EQ(collector_->Probe().state, State::kWorks);
  EXPECT_THAT(collector_->Probe().what, HasSubstr("GPM"));
  EXPECT_EQ(dcgm_.Connections(), 0);
}

TEST_F(DcgmCollectorTest, WithoutDcgmNothingIsSaidInItsPlace) {
  Start(kA100, "/nonexistent/libdcgm.so.4");
  Round();
  EXPECT_THAT(error_, HasSubstr("install datacenter-gpu-manager"));
  EXPECT_TRUE(readings_.empty()) << "busy is not SM activity";
  EXPECT_EQ(collector_->Probe().state, State::kAbsent);
  EXPECT_THAT(collector_->Probe().mend, HasSubstr("apt-get install"));
}

TEST_F(DcgmCollectorTest, NoDriver) {
  const auto collector = NewDcgmCollector("/nonexistent/libnvidia-ml.so.1", {});
  EXPECT_FALSE(collector->Collect(readings_));
  EXPECT_EQ(collector->Probe().state, State::kAbsent);
}

TEST_F(DcgmCollectorTest, ProbeSaysWhatABetterSourceTakes) {
  const auto standing = [&](const char* recording, DcgmConnection::Start start) {
    dcgm_.LoadText(recording);
    GpuFacts old, young;
    old.uuid = "GPU-a";
    young.index = 1;
    young.uuid = "GPU-h";
    young.gpm = true;
    return ProbeDcgm({RecordedDcgm::Library(), start}, {old, young});
  };
  constexpr const char* kNoService =
      R"({"gpus":[{"uuid":"GPU-a"}],"steps":[{"service":0,"gpus":[{"fields":{}}]}]})";
  auto found = standing(kCounts, DcgmConnection::Start::kNever);
  ASSERT_EQ(found.size(), 1U) << "GPM needs no DCGM";
  EXPECT_EQ(found.at(0).state, State::kWorks);
  EXPECT_EQ(dcgm_.Connections(), 0);

  found = standing(kNoService, DcgmConnection::Start::kNever);
  EXPECT_EQ(found.at(0).state, State::kAbsent);
  EXPECT_EQ(found.at(0).mend, "sudo systemctl start nvidia-dcgm");

  found = standing(kNoService, DcgmConnection::Start::kWhereNeeded);
  EXPECT_EQ(found.at(0).state, State::kPartly);
  EXPECT_EQ(dcgm_.Connections(), 0) << "to ask is not to start one";

  found = standing(R"({"gpus":[{"uuid":"GPU-a"}],"steps":[{"gpus":[{"watch":-29,"fields":{}}]}]})",
                   DcgmConnection::Start::kNever);
  EXPECT_EQ(found.at(0).state, State::kAbsent);
  EXPECT_THAT(found.at(0).what, HasSubstr("root's rights"));
  EXPECT_EQ(found.at(0).mend, "sudo systemctl restart nvidia-dcgm");
}

}  // namespace
}  // namespace sharewell::collect
