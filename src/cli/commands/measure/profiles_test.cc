#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/profiles_file.h"
#include "cli/app.h"
#include "cli/commands/commands.h"
#include "platform/files/test_folder.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using ::testing::HasSubstr;

class ProfilesCommandTest : public ::testing::Test {
 protected:
  void Save(core::ProfileRecord record) {
    const auto opened = store::Open(store_);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto id = (*opened)->Save(record);
    ASSERT_TRUE(id) << id.error().message;
  }
  static core::ProfileRecord Record(const std::string& gpu, double rate) {
    core::ProfileRecord record;
    record.name = "net";
    record.created = 1'700'000'000'000;
    record.source = "profile";
    core::Profile& p = record.profile;
    p.workload = {"tv:net@224", 64, "bf16", 4};
    p.gpu = gpu;
    p.steps_per_second = rate;
    p.busy = 0.5;
    p.sm = 0.25;
    p.dram = 0.125;
    p.gpu_memory = core::GiB(7);
    p.pcie = core::BytesPerSecond(3 * 1024 * 1024);
    p.cpu_cores = 2.5;
    p.host_memory = core::GiB(2);
    p.host_bandwidth = core::GBps(16);
    p.power = core::Watts(310.5);
    p.cpu_curve = {{1, 0.5}, {2, 0.75}, {4, 1}};
    return record;
  }
  std::string Print(std::vector<std::string> args) const {
    args.insert(args.begin(), "profiles");
    args.insert(args.end(), {"--store", store_});
    testing::internal::CaptureStdout();
    const int code = RunProgram(SharewellProgram(), args);
    std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, 0);
    return text;
  }

  platform::TestFolder folder_;
  std::string store_ = folder_.Path("p.db");
};

TEST_F(ProfilesCommandTest, WhatIsExportedIsReadBackAsItWas) {
  const auto known = Record("H200", 42.5);
  auto unknown = Record("V100", 17);
  core::Profile bare;
  bare.workload = unknown.profile.workload;
  bare.gpu = "V100";
  unknown.profile = bare;
  Save(known);
  Save(unknown);
  const std::string file = folder_.Path("profiles.csv");
  EXPECT_EQ(Print({"export", "--csv", "--out", file}), "");
  const auto read = catalogue::ReadProfiles(file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0], known.profile);
  EXPECT_EQ((*read)[1], unknown.profile);
}

TEST_F(ProfilesCommandTest, TheSameWorkloadOnTwoGpus) {
  Save(Record("V100", 10));
  Save(Record("H200", 25));
  const std::string table = Print({"compare", "net", "--by", "gpu"});
  EXPECT_THAT(table, HasSubstr("H200: steps/s"));
  EXPECT_THAT(table, HasSubstr("0.40x"));
  EXPECT_THAT(Print({"show", "net"}),
              HasSubstr("2 profiles have this name; this is the newest, id 2."));
}

}  // namespace
}  // namespace sharewell::cli
