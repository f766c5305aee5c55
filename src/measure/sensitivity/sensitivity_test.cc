#include "measure/sensitivity/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/files/test_folder.h"

namespace sharewell::measure {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

PressurePhase Phase(const char* pressure, double before, double under, double after,
                    double noise = 0.001) {
  PressurePhase phase;
  phase.pressure = phase.title = pressure;
  const auto rate = [&](double mean) {
    return PhaseRate{core::Seconds(0), mean, {mean * (1 - noise), mean, mean * (1 + noise)}};
  };
  phase.before = rate(before);
  phase.rate = rate(under);
  phase.after = rate(after);
  return phase;
}

TEST(Sensitivity, IsLossAgainstTheRestsAround) {
  SensitivityResult result;
  result.phases = {Phase("membw", 100, 98, 96), Phase("membw", 96, 80, 96),
                   Phase("cpu", 96, 95, 94)};
  DrawSensitivity(result);
  EXPECT_NEAR(*result.phases[0].speed, 1, 1e-9);  // a drift is no loss
  EXPECT_NEAR(*result.phases[1].speed, 80 / 96.0, 1e-9);
  ASSERT_THAT(result.conclusions, SizeIs(2));
  EXPECT_TRUE(result.conclusions[0].sensitive);
  EXPECT_NEAR(*result.conclusions[0].loss, 1 - 80 / 96.0, 1e-9);
  EXPECT_FALSE(result.conclusions[1].sensitive);
  EXPECT_NEAR(*result.drift, -0.06, 1e-9);
}

TEST(Sensitivity, ALossWithinTheNoiseIsNone) {
  SensitivityResult result;
  result.phases = {Phase("membw", 100, 90, 100, 0.2)};
  DrawSensitivity(result);
  EXPECT_GT(*result.phases[0].uncertainty, 0.1);
  EXPECT_FALSE(result.conclusions[0].sensitive);
}

TEST(Sensitivity, UnknownRatesStayUnknown) {
  SensitivityResult result;
  result.phases = {Phase("membw", 100, 90, 100)};
  result.phases[0].rate = {};
  DrawSensitivity(result);
  EXPECT_FALSE(result.phases[0].speed);
  EXPECT_FALSE(result.conclusions[0].loss);
}

// Presses on nothing, and says so.
class FakePressure : public stress::Pressure {
 public:
  void Run() override { runs = true; }
  core::Result<void> SetLevel(stress::Level level) override {
    target_ = level.value * capacity_.value;
    return {};
  }
  void Rest() override { runs = false; }
  stress::PressureReading Read() override {
    stress::PressureReading reading;
    reading.achieved = runs ? target_ : 0;
    return reading;
  }
  stress::PressureKind kind() const override { return stress::PressureKind::kMemoryBandwidth; }
  double target() const override { return target_; }
  const stress::Capacity& capacity() const override { return capacity_; }
  std::string Describe() const override { return "nothing"; }

  bool runs = false;

 private:
  double target_ = 0;
  stress::Capacity capacity_{.value = 1e10};
};

SensitivityOptions Quick(std::vector<std::string> command) {
  SensitivityOptions options;
  options.run.name = "job";
  options.run.command = std::move(command);
  options.run.out.to = platform::ChildOutput::To::kNull;
  options.run.err.to = platform::ChildOutput::To::kNull;
  options.phase = core::Seconds(0.5);
  options.watch.interval = core::Seconds(0.1);
  options.watch.warmup = core::Seconds(0.2);
  options.watch.grace = core::Seconds(1);
  options.watch.collectors = [](collect::JobSource&) {
    return std::vector<std::unique_ptr<collect::Collector>>();
  };
  WantedPressure wanted;
  wanted.shares = {0.5, 1};
  options.pressures = {wanted};
  options.prepare =
      [](const stress::PressureSpec&) -> core::Result<std::unique_ptr<stress::Pressure>> {
    return std::make_unique<FakePressure>();
  };
  return options;
}

const std::vector<std::string> kStepper = {
    "sh", "-c", "while :; do echo >> \"$SHAREWELL_PROGRESS\"; sleep 0.01; done"};

TEST(Sensitivity, PressesInPhasesWhileOneProcessRuns) {
  const auto result = Sensitivity(Quick(kStepper));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->measure, "steps/s");
  ASSERT_THAT(result->phases, SizeIs(2));
  EXPECT_NEAR(*result->phases[1].achieved_share, 1, 1e-9);
  EXPECT_EQ(result->phases[0].target_text, "5.00 GB/s");
  EXPECT_TRUE(result->phases[0].speed);
  EXPECT_TRUE(result->drift);
}

TEST(Sensitivity, SaysWhatIsAbsent) {
  auto options = Quick(kStepper);
  options.prepare =
      [](const stress::PressureSpec&) -> core::Result<std::unique_ptr<stress::Pressure>> {
    return tl::unexpected(core::Error{core::ErrorKind::kAbsent, "no GPU"});
  };
  const auto result = Sensitivity(options);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no GPU"));
}

TEST(Sensitivity, AJobThatEndsTooSoonIsSaid) {
  const auto short_one = Sensitivity(Quick({"true"}));
  ASSERT_FALSE(short_one);
  EXPECT_THAT(short_one.error().message, HasSubstr("give it more steps"));
  const auto broken = Sensitivity(Quick({"false"}));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("exit code 1"));
  EXPECT_FALSE(Sensitivity(Quick({"/no/such/program"})));
}

}  // namespace
}  // namespace sharewell::measure
