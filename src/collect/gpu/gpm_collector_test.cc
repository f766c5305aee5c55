#include "collect/gpu/gpm_collector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>

#include "collect/metrics/gpu_metrics.h"
#include "testing/recorded_nvml.h"

namespace sharewell::collect {
namespace {

using core::Reading;
using fixtures::RecordedNvml;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;

class GpmCollectorTest : public ::testing::Test {
 protected:
  void Start(const std::string& facts, const std::vector<std::string>& steps,
             const std::string& more = "") {
    std::string list;
    for (const std::string& step : steps) {
      list += fmt::format(R"({}{{"t":0,"gpus":[{}]}})", list.empty() ? "" : ",", step);
    }
    nvml_.LoadText(fmt::format(R"({{"gpus":[{}],"steps":[{}]{}}})", facts, list, more));
    collector_ = NewGpmCollector(RecordedNvml::Library());
  }
  void Round(int step) {
    nvml_.Step(step);
    readings_.clear();
    auto answer = collector_->Collect(readings_);
    error_ = answer ? "" : answer.error().message;
  }
  std::optional<double> ValueOf(const core::Metric& metric, const std::string& instance = "0") {
    for (const Reading& reading : readings_) {
      if (reading.metric == &metric && reading.instance == instance) return reading.value;
    }
    return std::nullopt;
  }

  RecordedNvml nvml_;
  std::unique_ptr<Collector> collector_;
  std::vector<Reading> readings_;
  std::string error_;
};

TEST_F(GpmCollectorTest, ReadsWhatAnH200Says) {
  nvml_.Load("tests/fixtures/nvml/h200-idle.json");
  collector_ = NewGpmCollector(RecordedNvml::Library());
  EXPECT_EQ(collector_->Floor(), core::Seconds(0.1));
  Round(22);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(readings_.empty());  // there is nothing to compare with yet
  const long before = nvml_.Calls();
  Round(23);
  EXPECT_EQ(error_, "");
  EXPECT_LE(nvml_.Calls() - before, 4);
  EXPECT_EQ(readings_.size(), 14U);
  EXPECT_THAT(ValueOf(kGpuActivitySource), Optional(kActivityByGpm));
  EXPECT_THAT(ValueOf(kGpuSm), Optional(DoubleNear(0.032789832057669748, 1e-12)));
  EXPECT_TRUE(ValueOf(kGpuDram).has_value());
  EXPECT_EQ(collector_->Probe().state, Health::State::kWorks);
}

TEST_F(GpmCollectorTest, ReadsWhatAnH200SaysUnderLoad) {
  nvml_.Load("tests/fixtures/nvml/h200-resnet50.json");
  collector_ = NewGpmCollector(RecordedNvml::Library());
  Round(12);
  Round(13);
  EXPECT_THAT(ValueOf(kGpuSm), Optional(DoubleNear(0.554, 0.001)));
  EXPECT_THAT(ValueOf(kGpuDram), Optional(testing::Gt(0.1)));
}

TEST_F(GpmCollectorTest, ScalesAndKeepsTheDirectionsApart) {
  Start(R"({"gpm":1})", {R"({"gpm":{}})", R"({"gpm":{"1":80,"2":50,"3":25,"4":1,"5":40,"10":30,
      "11":2,"12":3,"13":4,"20":1,"21":2,"60":3,"61":4}})"});
  Round(0);
  Round(1);
  EXPECT_THAT(ValueOf(kGpuGraphics), Optional(DoubleNear(0.8, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuSm), Optional(DoubleNear(0.5, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuOccupancy), Optional(DoubleNear(0.25, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuInteger), Optional(DoubleNear(0.01, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuTensor), Optional(DoubleNear(0.4, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuDram), Optional(DoubleNear(0.3, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuFp64), Optional(DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuFp32), Optional(DoubleNear(0.03, 1e-12)));
  EXPECT_THAT(ValueOf(kGpuFp16), Optional(DoubleNear(0.04, 1e-12)));
  constexpr double kMebibyte = 1024 * 1024;
  EXPECT_THAT(ValueOf(kGpuGpmPcieSent), Optional(1 * kMebibyte));
  EXPECT_THAT(ValueOf(kGpuGpmPcieReceived), Optional(2 * kMebibyte));
  EXPECT_THAT(ValueOf(kGpuNvlinkReceived), Optional(3 * kMebibyte));
  EXPECT_THAT(ValueOf(kGpuNvlinkSent), Optional(4 * kMebibyte));
}

TEST_F(GpmCollectorTest, OneFigureThatFailsIsLeftOutAlone) {
  Start(R"({"gpm":1})", {R"({"gpm":{}})", R"({"gpm":{"2":50,"5":null,"10":{"error":3},"3":-1}})"});
  Round(0);
  Round(1);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(ValueOf(kGpuSm).has_value());
  EXPECT_EQ(ValueOf(kGpuTensor), std::nullopt);
  EXPECT_EQ(ValueOf(kGpuDram), std::nullopt);
  EXPECT_EQ(ValueOf(kGpuOccupancy), std::nullopt);
  EXPECT_EQ(ValueOf(kGpuFp64), std::nullopt);
}

TEST_F(GpmCollectorTest, MigInstancesSpeakForThemselves) {
  Start(R"({"gpm":1,"mig_mode":[1,1],"max_migs":7})",
        {R"({"migs":[{"gpu_instance":3,"gpm":{}}]})",
         R"({"migs":[{"gpu_instance":3,"gpm":{"2":50}},{"gpu_instance":5,"gpm":{"2":10}}]})",
         R"({"migs":[{"gpu_instance":5,"gpm":{"2":20}}]})"});
  Round(0);
  EXPECT_EQ(error_, "");
  Round(1);
  EXPECT_THAT(ValueOf(kGpuSm, "0:3"), Optional(0.5));
  EXPECT_EQ(ValueOf(kGpuSm, "0:5"), std::nullopt);  // new
  Round(2);
  EXPECT_EQ(ValueOf(kGpuSm, "0:3"), std::nullopt);  // gone
  EXPECT_THAT(ValueOf(kGpuSm, "0:5"), Optional(0.2));
  EXPECT_EQ(ValueOf(kGpuSm, "0"), std::nullopt);
}

TEST_F(GpmCollectorTest, OldGpusAndDriversHaveNone) {
  Start(R"({"gpm":0,"name":"A100"})", {R"({})"});
  Round(0);
  EXPECT_THAT(error_, HasSubstr("Hopper or later"));
  EXPECT_EQ(collector_->Probe().state, Health::State::kAbsent);
  EXPECT_THAT(collector_->Probe().what, HasSubstr("A100"));

  Start(R"({"gpm":1})", {R"({"gpm":{}})"}, R"(,"missing":["nvmlGpmQueryDeviceSupport"])");
  Round(0);
  EXPECT_THAT(error_, HasSubstr("Hopper or later"));

  Start(R"({"gpm":1},{"gpm":0})", {R"({"gpm":{}},{})"});
  Round(0);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(collector_->Probe().state, Health::State::kPartly);
}

TEST_F(GpmCollectorTest, CountersForAdministratorsAlone) {
  Start(R"({"gpm":1})", {R"({"gpm":{"error":4}})", R"({"gpm":{}})"});
  Round(0);
  EXPECT_THAT(error_, HasSubstr("run as root"));
  EXPECT_EQ(collector_->Probe().state, Health::State::kAbsent);
  EXPECT_THAT(collector_->Probe().mend, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  Round(1);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(collector_->Probe().state, Health::State::kWorks);
}

TEST_F(GpmCollectorTest, AGpuThatIsLostStartsAnewWhenItIsBack) {
  const std::string fine = R"({"gpm":{"2":50}})";
  Start(R"({"gpm":1},{"gpm":1})", {fine + "," + fine, fine + "," + fine, R"({"error":15},)" + fine,
                                   fine + "," + fine, fine + "," + fine});
  Round(0);
  Round(1);
  EXPECT_TRUE(ValueOf(kGpuSm, "0").has_value());
  Round(2);
  EXPECT_THAT(error_, HasSubstr("GPU 0: the GPU has fallen off the bus"));
  EXPECT_EQ(ValueOf(kGpuSm, "0"), std::nullopt);
  EXPECT_TRUE(ValueOf(kGpuSm, "1").has_value());
  Round(3);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(ValueOf(kGpuSm, "0"), std::nullopt);
  Round(4);
  EXPECT_TRUE(ValueOf(kGpuSm, "0").has_value());
}

TEST_F(GpmCollectorTest, NoLibrary) {
  const auto collector = NewGpmCollector("/nonexistent/libnvidia-ml.so.1");
  EXPECT_FALSE(collector->Collect(readings_));
  EXPECT_EQ(collector->Probe().state, Health::State::kAbsent);
}

}  // namespace
}  // namespace sharewell::collect
