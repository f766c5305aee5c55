#include "platform/process/bandwidth_group.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

class BandwidthGroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view contents) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    folder_.Write(name, contents);
  }
  std::string Read(const std::string& name) const { return TestFolder::Read(folder_.Path(name)); }

  TestFolder folder_;
};

TEST_F(BandwidthGroupTest, IsNotThereWhereTheProcessorCannot) {
  EXPECT_EQ(BandwidthGroup::Make("sharewell.job-1", folder_.path()), nullptr);
  Write("sys/fs/resctrl/schemata", "    L3:0=7ff;1=7ff\n");
  EXPECT_EQ(BandwidthGroup::Make("sharewell.job-1", folder_.path()), nullptr) << "cache alone";
}

TEST_F(BandwidthGroupTest, BoundsEverySocketAndGoes) {
  Write("sys/fs/resctrl/schemata", "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n");
  Write("sys/fs/resctrl/info/MB/min_bandwidth", "20\n");
  Write("sys/fs/resctrl/info/MB/bandwidth_gran", "10\n");
  Write("proc/41/task/41/comm", "");
  const std::string group = "sys/fs/resctrl/sharewell.job-1";
  // The kernel fills a group as soon as it is made.
  Write(group + "/schemata", "");
  Write(group + "/tasks", "");
  const auto made = BandwidthGroup::Make("sharewell.job-1", folder_.path());
  ASSERT_NE(made, nullptr);
  made->Add({41, 42});
  EXPECT_EQ(Read(group + "/tasks"), "41") << "42 has gone";
  EXPECT_TRUE(made->SetShare(0.42));
  EXPECT_EQ(Read(group + "/schemata"), "MB:0=50;1=50\n");
  EXPECT_TRUE(made->SetShare(0.1));
  EXPECT_EQ(Read(group + "/schemata"), "MB:0=20;1=20\n") << "the least it can do";
}

}  // namespace
}  // namespace sharewell::platform
