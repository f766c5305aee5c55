#include "collect/gpu/dcgm/dcgm_engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "collect/metrics/gpu_metrics.h"
#include "testing/recorded_dcgm.h"

namespace sharewell::collect {
namespace {

using fixtures::RecordedDcgm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Start = DcgmConnection::Start;

constexpr const char* kIdle = R"({"fields":{"1002":0}})";

class DcgmEngineTest : public ::testing::Test {
 protected:
  // Steps of one GPU each, a thousand seconds apart: all but the first come after the watch began.
  void Load(const std::vector<std::string>& steps, const std::string& more = "") {
    std::string list;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      list += fmt::format(R"({}{{"t":{},"gpus":[{}]}})", i == 0 ? "" : ",", 1000 * i, steps[i]);
    }
    LoadSteps(list, more);
  }
  void LoadSteps(const std::string& steps, const std::string& more = "") {
    dcgm_.LoadText(fmt::format(R"({{"gpus":[{{"uuid":"GPU-a"}}],"steps":[{}]{}}})", steps, more));
    Open();
  }
  void Open(std::vector<DcgmEngine::Gpu> gpus = {{"0", "GPU-a"}}, Start start = Start::kNever) {
    engine_.reset();
    engine_ = std::make_unique<DcgmEngine>(DcgmEngine::Options{RecordedDcgm::Library(), start},
                                           std::move(gpus));
  }
  void Look(int step, double seconds_later = 1) {
    dcgm_.Step(step);
    now_ += std::chrono::duration_cast<DcgmEngine::Clock::duration>(
        std::chrono::duration<double>(seconds_later));
    readings_.clear();
    const auto looked = engine_->Look(now_, readings_);
    error_ = looked ? "" : looked.error().message;
    absent_ = !looked && looked.error().kind == core::ErrorKind::kAbsent;
  }
  std::vector<double> ValuesOf(const core::Metric& metric, const std::string& instance = "0") {
    std::vector<double> values;
    for (const core::Reading& reading : readings_) {
      if (reading.metric == &metric && reading.instance == instance) {
        values.push_back(reading.value);
      }
    }
    return values;
  }

  RecordedDcgm dcgm_;
  std::unique_ptr<DcgmEngine> engine_;
  DcgmEngine::Clock::time_point now_ = DcgmEngine::Clock::now();
  std::vector<core::Reading> readings_;
  std::string error_;
  bool absent_ = false;
};

TEST_F(DcgmEngineTest, ReadsEveryFigureInOurUnits) {
  Load({kIdle, R"({"fields":{"1001":0.9,"1002":0.5,"1003":0.25,"1004":0.4,"1005":0.3,"1006":0.02,
      "1007":0.03,"1008":0.04,"1009":1000,"1010":2000,"1011":3000,"1012":4000}})"});
  Look(0);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(readings_.empty()) << "what was counted before we watched is not ours";
  Look(1);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(readings_.size(), 12U);
  EXPECT_THAT(ValuesOf(kGpuGraphics), ElementsAre(0.9));
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));
  EXPECT_THAT(ValuesOf(kGpuOccupancy), ElementsAre(0.25));
  EXPECT_THAT(ValuesOf(kGpuTensor), ElementsAre(0.4));
  EXPECT_THAT(ValuesOf(kGpuDram), ElementsAre(0.3));
  EXPECT_THAT(ValuesOf(kGpuFp64), ElementsAre(0.02));
  EXPECT_THAT(ValuesOf(kGpuFp32), ElementsAre(0.03));
  EXPECT_THAT(ValuesOf(kGpuFp16), ElementsAre(0.04));
  EXPECT_THAT(ValuesOf(kGpuGpmPcieSent), ElementsAre(1000));
  EXPECT_THAT(ValuesOf(kGpuGpmPcieReceived), ElementsAre(2000));
  EXPECT_THAT(ValuesOf(kGpuNvlinkSent), ElementsAre(3000));
  EXPECT_THAT(ValuesOf(kGpuNvlinkReceived), ElementsAre(4000));
}

TEST_F(DcgmEngineTest, EveryValueIsTakenOnce) {
  Load({kIdle, R"({"fields":{"1002":0.1}})", R"({"fields":{"1002":0.2}})",
        R"({"fields":{"1002":0.3}})"});
  Look(0);
  Look(2);
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.1, 0.2));
  Look(2);
  EXPECT_TRUE(readings_.empty());
  EXPECT_EQ(error_, "");
  Look(3);
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.3));
}

TEST_F(DcgmEngineTest, AValueMayBeLongerInAnotherVersion) {
  Load({kIdle, R"({"fields":{"1002":0.5,"1005":0.25,"1012":7}})"}, R"(,"value_bytes":16408)");
  Look(0);
  Look(1);
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));
  EXPECT_THAT(ValuesOf(kGpuDram), ElementsAre(0.25));
  EXPECT_THAT(ValuesOf(kGpuNvlinkReceived), ElementsAre(7));
}

TEST_F(DcgmEngineTest, BlankValuesAreUnknownAndNeverZeroOrHuge) {
  Load({kIdle, R"({"fields":{"1002":0.5,"1003":null,"1004":{"blank":1},"1005":{"blank":2},
      "1006":{"blank":3},"1009":null,"1010":{"blank":2},"1007":{"error":-6},"1008":-1}})"});
  Look(0);
  Look(1);
  EXPECT_EQ(error_, "");
  ASSERT_EQ(readings_.size(), 1U);
  EXPECT_EQ(readings_[0].metric, &kGpuSm);
}

TEST_F(DcgmEngineTest, BlankThroughoutSaysWhy) {
  Load({kIdle, R"({"fields":{"1002":null}})", R"({"fields":{"1002":{"blank":2}}})",
        R"({"fields":{"1002":{"blank":3}}})", R"({"fields":{"1002":0.5}})"});
  Look(0);
  Look(1);
  EXPECT_THAT(error_, HasSubstr("GPU 0: DCGM's profiling is paused; resume it: dcgmi"));
  EXPECT_TRUE(absent_);
  Look(2);
  EXPECT_THAT(error_, HasSubstr("a data center GPU of Volta or later"));
  Look(3);
  EXPECT_THAT(error_, HasSubstr("root's rights"));
  Look(3);
  EXPECT_THAT(error_, HasSubstr("root's rights")) << "for as long as nothing else is told";
  Look(4);
  EXPECT_EQ(error_, "");
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));
}

TEST_F(DcgmEngineTest, AGpuWithFewCountersGivesWhatItCan) {
  const std::string values = R"("fields":{"1001":0.9,"1002":0.5,"1005":0.3,"1009":5,"1011":6}})";
  Load({R"({"counts":[1001,1002,1003,1004,1005,1006,1007,1008,1009,1010],)" + values,
        R"({)" + values});
  Look(0);
  Look(1);
  EXPECT_EQ(error_, "") << "without NVLink";
  EXPECT_THAT(ValuesOf(kGpuGpmPcieSent), ElementsAre(5));
  EXPECT_TRUE(ValuesOf(kGpuNvlinkSent).empty());

  Load({R"({"at_once":4,)" + values, R"({)" + values});
  Look(0);
  Look(1);
  EXPECT_EQ(error_, "") << "in one pass";
  EXPECT_THAT(ValuesOf(kGpuDram), ElementsAre(0.3));
  EXPECT_TRUE(ValuesOf(kGpuGpmPcieSent).empty());

  Load({R"({"counts":[1002],)" + values, R"({)" + values});
  Look(0);
  Look(1);
  EXPECT_EQ(readings_.size(), 1U);
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));

  Load({R"({"counts":[],)" + values});
  Look(0);
  EXPECT_THAT(error_, HasSubstr("GPU 0: DCGM does not count on this GPU"));
  EXPECT_EQ(dcgm_.Watches(), 0);
}

TEST_F(DcgmEngineTest, RefusalsSayWhatToDoAndAreTriedAgain) {
  const std::string fine = R"({"fields":{"1002":0.5}})";
  for (const auto& [code, said] :
       {std::pair(-17, "systemctl start nvidia-dcgm"), std::pair(-29, "root's rights"),
        std::pair(-33, "profiling module is not loaded"), std::pair(-34, "counters are in use"),
        std::pair(-37, "only one program"), std::pair(-99, "error -99 of DCGM")}) {
    Load({fmt::format(R"({{"watch":{},"fields":{{"1002":0.5}}}})", code), fine, fine});
    Look(0);
    EXPECT_THAT(error_, HasSubstr(said));
    EXPECT_TRUE(absent_);
    EXPECT_EQ(engine_->Codes(), std::vector<int>{code});
    EXPECT_EQ(dcgm_.Watches(), 0);
    Look(1);
    EXPECT_THAT(error_, HasSubstr(said)) << "not at every look";
    Look(1, 11);
    EXPECT_EQ(error_, "");
    Look(2);
    EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));
  }
}

TEST_F(DcgmEngineTest, ValuesThatAreRefusedLaterAreWatchedAgain) {
  const std::string fine = R"({"fields":{"1002":0.5}})";
  Load({fine, R"({"values":-37,"fields":{"1002":0.5}})", fine, fine});
  Look(0);
  Look(1);
  EXPECT_THAT(error_, HasSubstr("counters are in use"));
  EXPECT_EQ(dcgm_.Watches(), 0) << "so that the other program can have them";
  Look(2, 11);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(dcgm_.Watches(), 1);
}

TEST_F(DcgmEngineTest, AServiceThatIsRestartedIsFoundAgain) {
  const std::string gpus = R"("gpus":[{"fields":{"1002":0.5}}]})";
  std::string steps;
  int t = 0;
  for (const int service : {1, 1, 0, 2, 2}) {
    steps += fmt::format(R"({}{{"t":{},"service":{},{})", steps.empty() ? "" : ",", t += 1000,
                         service, gpus);
  }
  LoadSteps(steps);
  Look(0);
  Look(1);
  EXPECT_THAT(ValuesOf(kGpuSm), Not(::testing::IsEmpty()));
  Look(2);
  EXPECT_THAT(error_, HasSubstr("connection to DCGM's service was lost"));
  EXPECT_TRUE(absent_ && readings_.empty());
  Look(2, 11);
  EXPECT_THAT(error_, HasSubstr("systemctl start nvidia-dcgm")) << "it is not there";
  Look(3, 11);
  EXPECT_EQ(error_, "");
  Look(4);
  EXPECT_THAT(ValuesOf(kGpuSm), Not(::testing::IsEmpty()));

  // So fast that nobody saw it gone.
  LoadSteps(fmt::format(R"({{"t":0,"service":1,{},{{"t":1000,"service":2,{})", gpus, gpus));
  Look(0);
  Look(1);
  EXPECT_THAT(error_, HasSubstr("was lost"));
  Look(1, 11);
  EXPECT_EQ(error_, "");
}

TEST_F(DcgmEngineTest, WithoutAServiceRootStartsAnEngine) {
  const std::string step = R"({"t":0,"service":0,"gpus":[{"fields":{"1002":0.5}}]},
      {"t":1000,"service":0,"gpus":[{"fields":{"1002":0.5}}]})";
  LoadSteps(step);
  Look(0);
  EXPECT_THAT(error_, HasSubstr("an engine of our own would need root's rights"));
  EXPECT_FALSE(engine_->connected());
  Open({{"0", "GPU-a"}}, Start::kWhereNeeded);
  Look(0);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(engine_->embedded());
  Look(1);
  EXPECT_THAT(ValuesOf(kGpuSm), ElementsAre(0.5));
  engine_.reset();
  EXPECT_EQ(dcgm_.Connections(), 0);

  LoadSteps(step, R"(,"embedded":-7)");
  Open({{"0", "GPU-a"}}, Start::kWhereNeeded);
  Look(0);
  EXPECT_THAT(error_, HasSubstr("does not start in this process"));
}

TEST_F(DcgmEngineTest, GpusAreTheSameByTheirUuidWhateverTheirNumbers) {
  dcgm_.LoadText(R"({"gpus":[{"uuid":"GPU-b"},{"uuid":"GPU-a"}],"steps":[
      {"t":0,"gpus":[{"fields":{"1002":0}},{"fields":{"1002":0}}]},
      {"t":1000,"gpus":[{"fields":{"1002":0.7}},{"fields":{"1002":0.2}}]}]})");
  Open({{"0", "GPU-a"}, {"1", "GPU-b"}, {"2", "GPU-c"}});
  Look(0);
  Look(1);
  EXPECT_THAT(ValuesOf(kGpuSm, "0"), ElementsAre(0.2));
  EXPECT_THAT(ValuesOf(kGpuSm, "1"), ElementsAre(0.7));
  EXPECT_THAT(error_, HasSubstr("GPU 2: DCGM does not count on this GPU"));
  EXPECT_FALSE(absent_) << "the others are there";
}

TEST_F(DcgmEngineTest, ItLeavesNothingBehind) {
  Load({kIdle});
  Look(0);
  EXPECT_EQ(dcgm_.Watches(), 1);
  engine_.reset();
  EXPECT_EQ(dcgm_.Watches(), 0);
  EXPECT_EQ(dcgm_.Connections(), 0);
}

TEST_F(DcgmEngineTest, PausedWhileAnotherProfilerRuns) {
  Load({kIdle, R"({"fields":{"1002":0.5}})", R"({"fields":{"1002":0.6}})"});
  Look(0);
  {
    const DcgmPause pause(RecordedDcgm::Library());
    EXPECT_TRUE(dcgm_.Paused());
    Look(1);
    EXPECT_TRUE(readings_.empty());
    EXPECT_THAT(error_, HasSubstr("paused"));
  }
  EXPECT_FALSE(dcgm_.Paused());
  const DcgmPause nothing("/nonexistent/libdcgm.so.4");
}

TEST_F(DcgmEngineTest, NoLibraryOrAnother) {
  DcgmEngine none({"/nonexistent/libdcgm.so.4", Start::kWhereNeeded}, {{"0", "GPU-a"}});
  auto looked = none.Look(now_, readings_);
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(looked.error().message, HasSubstr("SHAREWELL_DCGM_LIBRARY"));
  DcgmEngine other({"libm.so.6", Start::kNever}, {{"0", "GPU-a"}});
  looked = other.Look(now_, readings_);
  ASSERT_FALSE(looked);
  EXPECT_THAT(looked.error().message, HasSubstr("is not DCGM 3 or 4"));
  Load({kIdle}, R"(,"init":-7)");
  Look(0);
  EXPECT_THAT(error_, HasSubstr("does not start"));
}

}  // namespace
}  // namespace sharewell::collect
