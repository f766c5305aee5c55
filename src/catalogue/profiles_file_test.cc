#include "catalogue/profiles_file.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::catalogue {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const auto profiles = ReadProfilesText(text, "p.csv");
  if (profiles) return "no error";
  EXPECT_EQ(profiles.error().kind, ErrorKind::kUsage);
  return profiles.error().message;
}

TEST(Profiles, TurnsPercentAndMebibytesIntoOurUnits) {
  const auto profiles = ReadProfilesText(
      "workload,batch,precision,workers,gpu,gpu_util,gpm_sm,gpm_dram,power_w,mem_used_bytes,"
      "pcie_tx_mib_s,pcie_rx_mib_s,steps_per_s,cpu_cores,host_rss_bytes,host_bandwidth_gbs,"
      "seconds,kernels_per_step,kernel_us\n"
      "tv:a@32,64,bf16,4,NVIDIA H200,100.4,50,25,300,1000,1,2,12.5,3.5,2000,10,9,941,30\n",
      "p.csv");
  ASSERT_TRUE(profiles) << profiles.error().message;
  const auto& p = profiles->at(0);
  EXPECT_EQ(p.workload, (core::Workload{"tv:a@32", 64, "bf16", 4}));
  EXPECT_EQ(p.gpu, "NVIDIA H200");
  EXPECT_EQ(p.busy, 1.0) << "samplers round; a little above 100 % is 100 %";
  EXPECT_EQ(p.sm, 0.5);
  EXPECT_EQ(p.dram, 0.25);
  EXPECT_EQ(p.pcie, core::BytesPerSecond(3 * 1048576.0));
  EXPECT_EQ(p.gpu_memory, core::Bytes(1000));
  EXPECT_EQ(p.host_memory, core::Bytes(2000));
  EXPECT_EQ(p.host_bandwidth, core::GBps(10));
  EXPECT_EQ(p.power, core::Watts(300));
  EXPECT_EQ(p.steps_per_second, 12.5);
  EXPECT_EQ(p.cpu_cores, 3.5);
  EXPECT_EQ(p.kernels, 941);
  EXPECT_EQ(p.kernel_time, core::Seconds(30 * 1e-6));
}

TEST(Profiles, UnknownIsAbsent) {
  const auto profiles =
      ReadProfilesText("workload,gpu,gpu_util,pcie_tx_mib_s,pcie_rx_mib_s\nw,T4,,,\n", "p.csv");
  ASSERT_TRUE(profiles);
  core::Profile expected;
  expected.workload.name = "w";
  expected.gpu = "T4";
  EXPECT_EQ(profiles->at(0), expected);
}

TEST(Profiles, ACpuCurveIsSharesOfItsLastThroughput) {
  const auto profiles =
      ReadProfilesText("workload,gpu,cpu_curve\nw,T4,1:50; 2:80;4:100\n", "p.csv");
  ASSERT_TRUE(profiles) << profiles.error().message;
  EXPECT_THAT(profiles->at(0).cpu_curve,
              testing::ElementsAre(std::pair(1.0, 0.5), std::pair(2.0, 0.8), std::pair(4.0, 1.0)));
}

TEST(Profiles, RefusesBadCurves) {
  const std::string header = "workload,gpu,cpu_curve\nw,T4,";
  for (const char* bad : {"1", "1:", ":1", "1:2:3", "1:x", "0:1", "1:0", "-1:1", "1:nan", "1:1e300",
                          "2:1;1:2", "1:1;1:2", "1:2;2:1"}) {
    EXPECT_THAT(ErrorOf(header + bad + "\n"), HasSubstr("line 2, column cpu_curve")) << bad;
  }
}

TEST(Profiles, RefusesImpossibleFigures) {
  EXPECT_THAT(ErrorOf("workload,gpu,gpu_util\nw,T4,101\n"), HasSubstr("column gpu_util: '101'"));
  EXPECT_THAT(ErrorOf("workload,gpu,gpm_sm\nw,T4,-1\n"), HasSubstr("column gpm_sm: '-1'"));
  EXPECT_THAT(ErrorOf("workload,gpu,gpm_dram\nw,T4,nan\n"), HasSubstr("column gpm_dram: 'nan'"));
  EXPECT_THAT(ErrorOf("workload,gpu,steps_per_s\nw,T4,0\n"), HasSubstr("column steps_per_s: '0'"));
  EXPECT_THAT(ErrorOf("workload,gpu,mem_used_bytes\nw,T4,1e300\n"),
              HasSubstr("column mem_used_bytes"));
  EXPECT_THAT(ErrorOf("workload,gpu,batch\nw,T4,99999999999\n"), HasSubstr("column batch"));
  EXPECT_THAT(ErrorOf("workload,gpu\n,T4\n"), HasSubstr("column workload: an empty field"));
  EXPECT_THAT(ErrorOf("workload,gpu\nw,\n"), HasSubstr("column gpu: an empty field"));
}

TEST(Profiles, RefusesDuplicatesAndEmptyFiles) {
  EXPECT_THAT(ErrorOf("workload,batch,gpu\nw,1,T4\nw,2,T4\nw,1,T4\n"),
              HasSubstr("line 4, column workload: 'w'"));
  EXPECT_THAT(ErrorOf("workload,gpu\n"), HasSubstr("holds no profile"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("gpu\nT4\n"), HasSubstr("has no column 'workload'"));
  EXPECT_THAT(ErrorOf("workload,gpu,gpu_util\nw,T4\n"), HasSubstr("line 2: has 2 fields where 3"));
}

TEST(Profiles, ReadsFromAFile) {
  const platform::TestFolder folder;
  EXPECT_TRUE(ReadProfiles(folder.Write("p.csv", "workload,gpu\nw,T4\n")));
  EXPECT_FALSE(ReadProfiles(folder.Path("none.csv")));
}

}  // namespace
}  // namespace sharewell::catalogue
