#include "report/measure/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;

measure::SensitivityResult Example() {
  measure::SensitivityResult result;
  result.name = "alexnet";
  result.measure = "steps/s";
  result.absent = {{"pcie", "no GPU"}};
  for (const auto& [pressure, share, rate] :
       {std::tuple("membw", 0.5, 90.0), {"membw", 1.0, 50.0}, {"disk", 1.0, 101.0}}) {
    measure::PressurePhase phase;
    phase.pressure = pressure;
    phase.title = std::string(pressure) == "membw" ? "memory bandwidth" : "disk";
    phase.target_share = share;
    phase.achieved_share = share * 0.9;
    phase.achieved_text = "9 GB/s";
    phase.before = phase.after = {core::Seconds(1), 100, {99, 100, 101}};
    phase.rate = {core::Seconds(2), rate, {rate, rate, rate}};
    result.phases.push_back(phase);
  }
  measure::DrawSensitivity(result);
  return result;
}

TEST(SensitivityTable, NamesWhatItIsSensitiveTo) {
  const std::string text = SensitivityTable(Example());
  EXPECT_THAT(text, HasSubstr("sensitive to: memory bandwidth (loses up to 50.0 %)"));
  EXPECT_THAT(text, HasSubstr("not to: disk"));
  EXPECT_THAT(text, HasSubstr("pcie was not applied: no GPU"));
  EXPECT_THAT(text, HasSubstr("1.000"));  // above full speed is noise
}

TEST(SensitivityCsv, HasTheRawSpeed) {
  EXPECT_THAT(SensitivityCsv(Example()), HasSubstr("disk,100,90,,9 GB/s,2,100,101,100,100,1.01,"));
}

TEST(SensitivitySvg, HasALineForEachPressureFromNone) {
  const std::string svg = SensitivitySvg(Example());
  EXPECT_THAT(svg, HasSubstr(">memory bandwidth</text>"));
  EXPECT_THAT(svg, HasSubstr("no pressure"));
}

TEST(SensitivityJson, SaysItInNumbers) {
  const std::string json = SensitivityJson(Example());
  EXPECT_THAT(json, HasSubstr("\"speed_ratio\": 0.5"));
  EXPECT_THAT(json, HasSubstr("\"sensitive\": true"));
}

}  // namespace
}  // namespace sharewell::report
