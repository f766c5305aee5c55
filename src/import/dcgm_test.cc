#include "import/dcgm.h"

#include <gmock/gmock.h>

#include "collect/metrics/metrics.h"
#include "import/dcgm_fields.h"
#include "platform/files/mapped_file.h"

namespace sharewell::imports {
namespace {

constexpr core::UnixMillis kNow = 1'700'000'000'000;

ImportedSamples Import(std::string_view text) {
  const auto exposition = ReadPrometheusText(text, "x");
  if (!exposition) {
    ADD_FAILURE() << exposition.error().message;
    return {};
  }
  return FromSamples(*exposition, "here", kNow, collect::AllMetrics());
}

double ValueOf(const ImportedSamples& samples, std::string_view metric,
               std::string_view instance = "", std::string_view job = "") {
  for (const auto& [node, batch] : samples.batches) {
    for (const core::Reading& reading : batch.readings) {
      if (reading.metric->name == metric && reading.instance == instance && reading.job == job) {
        return reading.value;
      }
    }
  }
  ADD_FAILURE() << "no " << metric << " of '" << instance << "'";
  return -1;
}

TEST(Dcgm, ClassicNamesWithScalesUndone) {
  const auto file = platform::MappedFile::Open("tests/fixtures/import/dcgm.txt");
  ASSERT_TRUE(file);
  const auto samples = Import(file->text());
  ASSERT_EQ(samples.batches.size(), 1u);
  EXPECT_EQ(samples.batches[0].first, "gpu1");
  EXPECT_EQ(samples.batches[0].second.time, kNow);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_busy_ratio", "0"), 0.87);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_busy_ratio", "1"), 0);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_memory_used_bytes", "0"), 20480.0 * 1024 * 1024);
  EXPECT_EQ(samples.taken, 7);
  EXPECT_EQ(samples.blank, 1);     // the memory's temperature
  EXPECT_EQ(samples.repeated, 1);  // two pods on one GPU
  EXPECT_EQ(samples.unknown.size(), 1u);
}

TEST(Dcgm, RenamedFields) {
  const auto samples = Import(
      "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\",hostname=\"n\"} 87\n"
      "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"1\",hostname=\"n\"} 1\n"
      "DCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"0\"} 350.5\n"
      "DCGM_FI_DEV_FB_USED_BYTES{gpu=\"0\"} 1048576\n"
      "DCGM_FI_PROF_SM_UTIL_RATIO{gpu=\"0\",GPU_I_ID=\"3\"} 0.5\n");
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_busy_ratio", "0"), 0.87);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_busy_ratio", "1"), 0.01);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_power_watts", "0"), 350.5);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_memory_used_bytes", "0"), 1048576);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "gpu_sm_ratio", "0:3"), 0.5);
  ASSERT_EQ(samples.batches.size(), 2u);
  EXPECT_EQ(samples.batches[0].first, "here");
  EXPECT_EQ(samples.batches[1].first, "n");
  // From 4.7 on that name is a ratio.
  EXPECT_DOUBLE_EQ(
      ValueOf(Import("DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"} 0.87\n"), "gpu_busy_ratio", "0"), 0.87);
}

TEST(Dcgm, EveryRenamedFieldMeansOneThatIsKnownByItsClassicName) {
  std::set<int> ids;
  for (const DcgmField& field : DcgmFields()) {
    EXPECT_TRUE(ids.insert(field.id).second) << field.id;
    EXPECT_NE(field.name, field.classic);
    EXPECT_EQ(FindDcgmField(field.name), &field);
    EXPECT_EQ(FindDcgmField(field.classic), nullptr) << field.classic;
  }
}

TEST(Dcgm, Blanks) {
  for (const double blank : {9223372036854775792.0, 9223372036854775794.0, 140737488355328.0,
                             140737488355330.0, 2147483632.0, 2147483634.0}) {
    EXPECT_TRUE(IsDcgmBlank(blank)) << blank;
  }
  for (const double value : {0.0, 1.0, 2147483631.0, 140737488355327.0, -1.0}) {
    EXPECT_FALSE(IsDcgmBlank(value)) << value;
  }
  const auto samples =
      Import("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} NaN\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} +Inf\n");
  EXPECT_EQ(samples.blank, 2);
  EXPECT_TRUE(samples.batches.empty());
}

TEST(Dcgm, NodeExporterAndTimes) {
  const auto samples = Import(
      "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 12.5 1600000000000\n"
      "node_cpu_seconds_total{cpu=\"0\",mode=\"guest\"} 1 1600000000000\n"
      "node_memory_MemTotal_bytes 8e9\n"
      "node_disk_read_bytes_total{device=\"nvme0n1\"} 4096\n");
  EXPECT_DOUBLE_EQ(ValueOf(samples, "cpu_user_seconds", "0"), 12.5);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "memory_total_bytes"), 8e9);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "disk_read_bytes", "nvme0n1"), 4096);
  ASSERT_EQ(samples.batches.size(), 2u);
  EXPECT_EQ(samples.batches[0].second.time, 1'600'000'000'000);
  EXPECT_EQ(samples.unknown.at("node_cpu_seconds_total"), 1);
}

TEST(Dcgm, OurOwnNames) {
  const auto samples = Import(
      "sharewell_job_cores{job=\"a\",hostname=\"n\"} "
      "3.5\nsharewell_job_cpu_seconds_total{job=\"a\"} 7\n");
  EXPECT_DOUBLE_EQ(ValueOf(samples, "job_cores", "", "a"), 3.5);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "job_cpu_seconds", "", "a"), 7);
}

}  // namespace
}  // namespace sharewell::imports
