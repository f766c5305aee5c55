#include "import/ncu.h"

#include <gmock/gmock.h>

#include "import/kernel_table.h"
#include "import/ncu_value.h"
#include "platform/files/mapped_file.h"

namespace sharewell::imports {
namespace {

using testing::HasSubstr;

core::ProfileRecord ReadFile(const std::string& name) {
  const auto file = platform::MappedFile::Open("tests/fixtures/import/" + name);
  if (!file) ADD_FAILURE() << file.error().message;
  auto record = ReadNcuText(file->text(), name);
  if (!record) ADD_FAILURE() << record.error().message;
  return record.value_or(core::ProfileRecord());
}

std::string Problem(std::string_view text) {
  const auto record = ReadNcuText(text, "x.csv");
  if (record) return "it was read";
  EXPECT_EQ(record.error().kind, core::ErrorKind::kUsage);
  return record.error().message;
}

constexpr std::string_view kLong =
    "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

TEST(Ncu, ReadsTheRawPage) {
  const auto record = ReadFile("ncu-raw.csv");
  ASSERT_EQ(record.kernels.size(), 2u);
  const auto& fill = record.kernels[0];
  EXPECT_THAT(fill.name, testing::StartsWith("void at::native::vectorized_elementwise_kernel<4"));
  EXPECT_EQ(fill.launches, 2);
  EXPECT_NEAR(fill.time.value, 40e-6, 1e-12);
  // 10 us at 5 % and 30 us at 1 %.
  EXPECT_NEAR(*fill.sm, 0.02, 1e-9);
  EXPECT_NEAR(fill.dram_write->value, 2160e9, 1);
  EXPECT_NEAR(*fill.occupancy, 0.5, 1e-9);
  const auto& gemm = record.kernels[1];
  EXPECT_NEAR(*gemm.sm, 0.75, 1e-9);
  EXPECT_EQ(gemm.occupancy, std::nullopt);  // n/a is not 0
  EXPECT_EQ(gemm.dram, std::nullopt);
  EXPECT_EQ(record.profile.gpu, "NVIDIA H200");
  EXPECT_EQ(record.profile.sm, std::nullopt);  // throughput is not activity
  EXPECT_NEAR(record.profile.kernel_time->value, 70e-6 / 3, 1e-12);
  EXPECT_EQ(record.profile.kernels, std::nullopt);  // of how many steps?
}

TEST(Ncu, TheWholeIsWeightedByTime) {
  const auto record = ReadFile("ncu-raw.csv");
  const auto whole = WholeOf(record.kernels);
  EXPECT_EQ(whole.launches, 3);
  EXPECT_NEAR(whole.time.value, 70e-6, 1e-12);
  EXPECT_NEAR(*whole.sm, (10 * 0.05 + 30 * 0.75 + 30 * 0.01) / 70, 1e-9);
  EXPECT_NEAR(*whole.dram_read_share, (40 * 0.001 + 30 * 0.3) / 70, 1e-9);
  EXPECT_NEAR(*whole.occupancy, 0.5, 1e-9);  // of the kernels that say
  ASSERT_FALSE(record.figures.empty());
  EXPECT_EQ(record.figures[0].metric, "kernels_sm_ratio");
  EXPECT_NEAR(record.figures[0].mean, *whole.sm, 1e-12);
  EXPECT_NEAR(record.figures[0].most, 0.75, 1e-9);
}

TEST(Ncu, ReadsTheDetailsPage) {
  const auto record = ReadFile("ncu-details.csv");
  ASSERT_EQ(record.kernels.size(), 1u);
  const auto& gemm = record.kernels[0];
  EXPECT_EQ(gemm.name, "gemm");
  EXPECT_NEAR(gemm.time.value, 1250.5e-6, 1e-12);
  EXPECT_NEAR(*gemm.sm, 0.88, 1e-9);
  EXPECT_NEAR(*gemm.memory, 0.462, 1e-9);  // not the one in Tbyte/second
  EXPECT_NEAR(*gemm.l2, 0.274, 1e-9);
  EXPECT_NEAR(*gemm.dram, 0.301, 1e-9);
  EXPECT_NEAR(*gemm.occupancy, 0.125, 1e-9);
  EXPECT_THAT(record.notes, testing::Contains(HasSubstr("no DRAM read share")));
}

TEST(Ncu, ReadsACaptureOfAnH200) {
  const auto record = ReadFile("h200-ncu-raw.csv");
  const auto whole = WholeOf(record.kernels);
  EXPECT_GT(whole.launches, 0);
  EXPECT_EQ(record.profile.gpu, "NVIDIA H200");
  for (const auto& share : {whole.sm, whole.memory, whole.l2, whole.dram, whole.occupancy,
                            whole.dram_read_share, whole.dram_write_share}) {
    ASSERT_TRUE(share);
    EXPECT_TRUE(*share > 0 && *share < 1) << *share;
  }
}

TEST(Ncu, MetricsByNameAndLaunchesById) {
  const auto record =
      ReadNcuText(std::string(kLong) +
                      "\"0\",\"k\",\"gpu__time_duration.sum\",\"nsecond\",\"500,000\"\n"
                      "\"0\",\"k\",\"dram__bytes_read.sum\",\"Mbyte\",\"1.5\"\n"
                      "\"1\",\"k\",\"gpu__time_duration.sum\",\"msecond\",\"1.5\"\n"
                      "==PROF== Disconnected from process 1\n",
                  "x.csv");
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->kernels.size(), 1u);
  EXPECT_EQ(record->kernels[0].launches, 2);
  EXPECT_NEAR(record->kernels[0].time.value, 2e-3, 1e-12);
  EXPECT_NEAR(record->kernels[0].dram_read->value, 3e9, 1);  // bytes over time
}

TEST(Ncu, WithoutTimesEveryLaunchCountsAlike) {
  const std::string metric = "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\",\"%\",";
  const auto record =
      ReadNcuText(std::string(kLong) + "\"0\",\"a\"," + metric + "\"10\"\n\"1\",\"a\"," + metric +
                      "\"30\"\n\"2\",\"b\"," + metric + "\"80\"\n",
                  "x.csv");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_NEAR(*record->kernels[0].sm, 0.2, 1e-9);
  EXPECT_NEAR(*WholeOf(record->kernels).sm, 0.4, 1e-9);
  EXPECT_THAT(record->notes, testing::Contains(HasSubstr("every launch counts alike")));
}

TEST(Ncu, DecimalCommas) {
  const auto record = ReadNcuText(
      std::string(kLong) +
          "\"0\",\"k\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\",\"%\",\"15,72\"\n"
          "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"1.234\"\n",
      "x.csv");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_NEAR(*record->kernels[0].sm, 0.1572, 1e-9);
  EXPECT_NEAR(record->kernels[0].time.value, 1234e-9, 1e-15);
}

TEST(Ncu, SaysThatNcuFailedOnTheWay) {
  const auto record =
      ReadNcuText("==ERROR== Failed to profile \"k\" in process 1\n" + std::string(kLong) +
                      "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"5\"\n",
                  "x.csv");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->notes, testing::Contains(HasSubstr("missing: 'Failed to profile \"k\" in")));
}

TEST(Ncu, LeavesOutALastLineThatWasCut) {
  const auto record =
      ReadNcuText(std::string(kLong) +
                      "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"5\"\n\"1\",\"k\",\"gpu__ti",
                  "x.csv");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->kernels[0].launches, 1);
  EXPECT_THAT(record->notes, testing::Contains(HasSubstr("last line was cut")));
}

TEST(Ncu, SaysWhatIsWrong) {
  EXPECT_THAT(Problem(""), HasSubstr("no table of kernels"));
  EXPECT_THAT(Problem("a,b\n1,2\n"), HasSubstr("Kernel Name"));
  EXPECT_THAT(Problem("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"),
              HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_THAT(Problem(std::string_view("NVR\0\0", 5)), HasSubstr("ncu -i x.csv --csv --page raw"));
  EXPECT_THAT(Problem(kLong), HasSubstr("has no kernel"));
  EXPECT_THAT(Problem(std::string(kLong) + "\"0\",\"k\",\"x\",\"ns\",\"5\"\n"),
              HasSubstr("none of the metrics"));
  EXPECT_THAT(Problem(std::string(kLong) + "\"0\",\"k\"\n\"0\",\"k\",\"a\",\"b\",\"c\"\n"),
              HasSubstr("x.csv: line 2: has 2 fields where 5 are expected"));
  EXPECT_THAT(
      Problem(std::string(kLong) + "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"abc\"\n"),
      HasSubstr("line 2: gpu__time_duration.sum: 'abc' is not a number"));
  EXPECT_THAT(
      Problem(std::string(kLong) + "\"0\",\"k\",\"gpu__time_duration.sum\",\"cycle\",\"5\"\n"),
      HasSubstr("the unit 'cycle' is not known"));
  EXPECT_THAT(
      Problem(std::string(kLong) + "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"-5\"\n"),
      HasSubstr("at least 0"));
  EXPECT_THAT(Problem(std::string(kLong) + "\"0\",\"\",\"gpu__time_duration.sum\",\"ns\",\"5\"\n"),
              HasSubstr("without a name"));
  EXPECT_THAT(Problem(std::string(std::size_t{2} << 20, 'x')), HasSubstr("longer than 1 MiB"));
}

TEST(NcuValue, Units) {
  EXPECT_EQ(NcuScale(NcuKind::kSeconds, "usecond"), 1e-6);
  EXPECT_EQ(NcuScale(NcuKind::kSeconds, ""), 1e-9);
  EXPECT_EQ(NcuScale(NcuKind::kRate, "Gbyte/second"), 1e9);
  EXPECT_EQ(NcuScale(NcuKind::kRate, "byte/s"), 1);
  EXPECT_NEAR(*NcuScale(NcuKind::kRate, "byte/ns"), 1e9, 1);
  EXPECT_EQ(NcuScale(NcuKind::kRate, "Gbyte/"), std::nullopt);
  EXPECT_EQ(NcuScale(NcuKind::kBytes, "KB"), 1e3);
  EXPECT_EQ(NcuScale(NcuKind::kShare, "inst"), std::nullopt);
  EXPECT_EQ(NcuNumber("12,345.5", false), 12345.5);
  EXPECT_EQ(NcuNumber("12.345,5", true), 12345.5);
  EXPECT_EQ(NcuNumber("1e999", false), std::nullopt);
  EXPECT_EQ(NcuNumber("", false), std::nullopt);
}

}  // namespace
}  // namespace sharewell::imports
