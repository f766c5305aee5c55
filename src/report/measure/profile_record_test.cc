#include "report/measure/profile_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using testing::HasSubstr;
using testing::Not;

core::Figure Of(const std::string& metric, const std::string& unit, double mean, double most) {
  return {.metric = metric,
          .instance = "",
          .unit = unit,
          .mean = mean,
          .least = mean,
          .most = most,
          .median = mean,
          .p95 = most,
          .deviation = 0,
          .readings = 10};
}

core::ProfileRecord Measured() {
  core::ProfileRecord record;
  record.id = 12;
  record.name = "resnet";
  record.source = "profile";
  record.created = 1'700'000'000'000;
  record.profile.workload = {"tv:resnet50@224", 64, "bf16", 4};
  record.profile.gpu = "H200";
  record.profile.steps_per_second = 27.8;
  record.profile.busy = 0.97;
  record.profile.sm = 0.81;
  record.profile.gpu_memory = core::Bytes(12.3e9);
  record.profile.cpu_cores = 1.52;
  record.command = {"python3", "-c", "import x\n\x1b[31m"};
  record.environment = {{"node", "gpu1"}, {"cpu", "AMD EPYC"}};
  record.figures = {Of("cpu_busy_ratio", "ratio", 0.1, 0.2),
                    Of("job_read_bytes", "bytes/s", 1.2e7, 3e8)};
  record.throughput_source = "progress file";
  record.warmup = core::Seconds(8);
  record.window = core::Seconds(12);
  record.settled = true;
  record.uncertainty = 0.004;
  record.bound_by = "gpu: busy 97 % of the time";
  record.notes = {"a note"};
  return record;
}

TEST(ProfileRecordText, SaysWhatItNeedsAndWhereItWasMeasured) {
  const std::string text = ProfileRecordText(Measured());
  for (const char* part :
       {"resnet: tv:resnet50@224, batch 64, bf16, 4 workers on H200  (profile 12)",
        "27.8        ± 0.4 %, settled over 12.0 s after 8.0 s of warm-up", "97.0 %", "SM 81.0 %",
        "11.5 GiB", "peak 300.0 MB/s, by the job", "9.70", "gpu: busy 97 %", "AMD EPYC", "a note",
        "2023-11-14"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ProfileRecordText, AnEmptyOneHasNoFigures) {
  core::ProfileRecord record;
  record.name = "nothing";
  record.profile.workload.name = "nothing";
  record.notes = {"ended after 0.1 s"};
  const std::string text = ProfileRecordText(record);
  EXPECT_THAT(text, HasSubstr("nothing\n"));
  EXPECT_THAT(text, Not(HasSubstr("steps/s")));
  EXPECT_THAT(text, HasSubstr("ended after 0.1 s"));
}

TEST(ProfileRecordsJson, HasUnitsInItsKeysAndNullForUnknown) {
  const auto json = nlohmann::json::parse(ProfileRecordsJson({Measured(), core::ProfileRecord{}}));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["profiles"].size(), 2U);
  const auto& one = json["profiles"][0];
  EXPECT_EQ(one["steps_per_second"], 27.8);
  EXPECT_EQ(one["gpu_memory_bytes"], 12.3e9);
  EXPECT_DOUBLE_EQ(one["gpu_over_cpu_ratio"], 9.7);
  EXPECT_EQ(one["environment"]["node"], "gpu1");
  EXPECT_EQ(one["figures"][1]["most"], 3e8);
  EXPECT_TRUE(one["dram_ratio"].is_null());
  EXPECT_TRUE(one["exit_code"].is_null());
  EXPECT_TRUE(json["profiles"][1]["steps_per_second"].is_null());
  EXPECT_TRUE(json["profiles"][1]["id"].is_null());
}

TEST(PredictedBeside, ShowsWhatBothSidesKnow) {
  advice::PredictionRow row;
  for (auto& value : row.prediction.figures) value = {{0.5, 0.4, 0.8}};
  const std::string text = PredictedBeside(Measured(), row);
  EXPECT_THAT(text, HasSubstr("27.80"));
  EXPECT_THAT(text, HasSubstr("GPU busy"));
  EXPECT_THAT(text, HasSubstr("40.0 % and 80.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("DRAM")));
}

}  // namespace
}  // namespace sharewell::report
