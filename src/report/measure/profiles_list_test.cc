#include "report/measure/profiles_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/measure/profile_compare.h"

namespace sharewell::report {
namespace {

using core::ProfileRecord;
using ::testing::HasSubstr;
using ::testing::Not;

ProfileRecord Record(std::int64_t id, const std::string& workload, const std::string& gpu,
                     double rate) {
  ProfileRecord record;
  record.id = id;
  record.name = "run of " + workload;
  record.created = 1'700'000'000'000 + id;
  record.source = "profile";
  record.profile.workload = {workload, 64, "bf16", 4};
  record.profile.gpu = gpu;
  record.profile.steps_per_second = rate;
  record.profile.busy = 0.97;
  record.environment = {{"node", "n1"}, {"cpu", gpu == "H200" ? "Skylake" : "Haswell"}};
  return record;
}

TEST(ProfilesCsv, HasTheNewestOfEachWorkloadOnEachGpu) {
  auto third = Record(3, "a", "H200", 30);
  third.profile.cpu_curve = {{1, 0.5}, {2, 1}};
  third.profile.pcie = core::BytesPerSecond(2 * 1024 * 1024);
  third.profile.kernels = 941;
  third.profile.kernel_time = core::Seconds(25e-6);
  third.environment.emplace_back("model", "a,b.onnx");
  auto nameless = Record(5, "", "H200", 5);
  nameless.profile.workload = {};
  nameless.name = "plain";
  const auto csv = ProfilesCsv({third, Record(1, "a", "H200", 10), Record(2, "a", "V100", 20),
                                Record(4, "a", "", 1), nameless});
  EXPECT_EQ(csv.rows, 3U);
  EXPECT_EQ(csv.older, 1U);
  EXPECT_EQ(csv.without_gpu, 1U);
  EXPECT_EQ(csv.csv,
            "workload,gpu,batch,precision,workers,model,steps_per_s,gpu_util,gpm_sm,gpm_dram,"
            "mem_used_bytes,pcie_rx_mib_s,cpu_cores,host_rss_bytes,host_bandwidth_gbs,power_w,"
            "kernels_per_step,kernel_us,cpu_curve\n"
            "a,H200,64,bf16,4,\"a,b.onnx\",30,97,,,,2,,,,,941,25,1:0.5;2:1\n"
            "a,V100,64,bf16,4,,20,97,,,,,,,,,,,\n"
            "plain,H200,,,,,5,97,,,,,,,,,,,\n");
}

TEST(ProfilesTable, DashesForWhatIsNotKnown) {
  ProfileRecord record;
  record.id = 7;
  record.name = "x";
  EXPECT_THAT(ProfilesTable({record}), HasSubstr("7  x         -  -          -"));
  EXPECT_THAT(ProfilesListJson({record}), HasSubstr("\"gpu\": null"));
}

TEST(ProfilePair, RatiosAndWhatDiffers) {
  auto a = Record(1, "a", "V100", 10);
  auto b = Record(2, "a", "H200", 25);
  a.figures.push_back({"gpu_power_watts", "0", "watts", 200});
  b.figures.push_back({"gpu_power_watts", "0", "watts", 400});
  b.figures.push_back({"cpu_busy_ratio", "", "ratio", 0.5});
  const std::string text = ProfilePairText(a, b);
  EXPECT_THAT(text, HasSubstr("steps a second"));
  EXPECT_THAT(text, HasSubstr("2.50x"));
  EXPECT_THAT(text, ::testing::ContainsRegex("gpu_power_watts 0 +200 W +400 W  2.00x"));
  EXPECT_THAT(text, ::testing::ContainsRegex("cpu_busy_ratio +- +50.0 % +-\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("cpu +Haswell +Skylake"));
  EXPECT_THAT(text, Not(HasSubstr("n1")));
  EXPECT_THAT(ProfilePairText(a, a), HasSubstr("in the same environment"));
}

TEST(Comparison, ByGpuAndByCpu) {
  const std::vector<ProfileRecord> records = {Record(1, "a", "H200", 10), Record(2, "a", "V100", 4),
                                              Record(3, "a", "V100", 5), Record(4, "b", "H200", 7)};
  for (const auto by : {CompareBy::kGpu, CompareBy::kCpu}) {
    const Comparison comparison = Compare(records, by);
    ASSERT_EQ(comparison.rows.size(), 1U);
    EXPECT_EQ(comparison.alone, 1U);
    const bool gpu = by == CompareBy::kGpu;
    EXPECT_EQ(comparison.columns, gpu ? std::vector<std::string>({"H200", "V100"})
                                      : std::vector<std::string>({"Haswell", "Skylake"}));
    EXPECT_EQ(comparison.rows[0].cells[gpu ? 1 : 0]->id, 3);  // the newer of two
    const std::string text = ComparisonText(comparison);
    EXPECT_THAT(text, HasSubstr(gpu ? "0.50x" : "2.00x"));
    EXPECT_THAT(text, HasSubstr(gpu ? "1 workload was on one GPU only" : "on one CPU only"));
  }
  EXPECT_THAT(ComparisonText(Compare({}, CompareBy::kGpu)), HasSubstr("nothing to compare"));
}

}  // namespace
}  // namespace sharewell::report
