#include "report/measure/stress.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using testing::HasSubstr;
using testing::Not;

StressRow Row() {
  StressRow row;
  row.kind = "membw";
  row.unit = "bytes_per_second";
  row.what = "copies";
  row.target = 10e9;
  row.capacity = 20e9;
  row.capacity_spread = 0.012;
  row.seconds = {9.9e9, 10.1e9};
  row.mean = 10e9;
  row.error = 0.0;
  row.variation = 0.0141;
  row.largest_deviation = 0.01;
  row.held = true;
  return row;
}

TEST(Stress, TheTableShowsTargetMeanAndSteadiness) {
  StressOutcome outcome{core::Seconds(2), false, {Row()}};
  const std::string text = StressTable(outcome);
  EXPECT_THAT(text, HasSubstr("10.00 GB/s"));
  EXPECT_THAT(text, HasSubstr("+0.00 %"));
  EXPECT_THAT(text, HasSubstr("1.41 %"));
  EXPECT_THAT(text, HasSubstr("100 % is 20.00 GB/s, measured, repeats within 1.20 %"));
  EXPECT_THAT(text, Not(HasSubstr("was not held")));
  outcome.rows[0].held = false;
  outcome.rows[0].why = "others use it";
  EXPECT_THAT(StressTable(outcome), HasSubstr("membw was not held: others use it"));
}

TEST(Stress, UnknownIsADashAndNull) {
  StressRow row;
  row.kind = "cpu";
  row.unit = "cores";
  row.target = 1.5;
  row.capacity = 2;
  const StressOutcome outcome{core::Seconds(60), true, {row}};
  EXPECT_THAT(StressTable(outcome), HasSubstr("Interrupted"));
  const auto json = nlohmann::json::parse(StressJson(outcome));
  EXPECT_EQ(json["asked_seconds"], 60);
  EXPECT_EQ(json["interrupted"], true);
  const auto& cpu = json["pressures"][0];
  for (const char* key : {"mean", "error_ratio", "variation_ratio", "held", "why",
                          "capacity_spread_ratio", "largest_deviation_ratio"}) {
    EXPECT_TRUE(cpu.contains(key) && cpu[key].is_null()) << key;
  }
  EXPECT_EQ(cpu["target"], 1.5);
  EXPECT_TRUE(cpu["per_second"].empty());
}

TEST(Stress, ALineASecond) {
  StressRow cpu;
  cpu.kind = "cpu";
  cpu.unit = "cores";
  cpu.seconds = {1.498};
  EXPECT_EQ(StressLine(0, {Row(), cpu}), "   1 s  membw 9.90 GB/s  cpu 1.50 cores");
  EXPECT_EQ(StressLine(1, {Row(), cpu}), "   2 s  membw 10.10 GB/s");
}

TEST(Stress, LevelsInTheirUnits) {
  EXPECT_EQ(StressLevel("bytes", 110100480), "105.0 MiB");
  EXPECT_EQ(StressLevel("bytes_per_second", 512), "512 B/s");
  EXPECT_EQ(StressLevel("cores", 1.5), "1.50 cores");
}

}  // namespace
}  // namespace sharewell::report
