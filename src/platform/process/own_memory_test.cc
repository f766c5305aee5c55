#include "platform/process/own_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

class OwnMemory : public ::testing::Test {
 protected:
  void In(const std::string& group, const std::string& bound) {
    Put("proc/self/cgroup", "0::/" + group + "\n");
    Put("sys/fs/cgroup/" + group + "/memory.max", bound + "\n");
  }
  void Put(const std::string& name, const std::string& text) {
    const fs::path path = folder_.Path(name);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string Bound(const std::string& group) {
    return TestFolder::Read(folder_.Path("sys/fs/cgroup/" + group + "/memory.max"));
  }
  const TestFolder folder_;
  const std::string root_ = folder_.Path("");
};

TEST_F(OwnMemory, A2TheServersLeafIsBoundedAndNotTheUnitWithItsJobs) {
  const std::string unit = "sharewell.slice/sharewell.service";
  In(unit + "/server", "max");
  Put("sys/fs/cgroup/" + unit + "/memory.max", "max\n");
  EXPECT_TRUE(BoundOwnMemory(core::Bytes(4e9), root_));
  EXPECT_EQ(Bound(unit + "/server"), "4000000000");
  EXPECT_EQ(Bound(unit), "max\n");
}

TEST_F(OwnMemory, AUnitWithoutASubgroupHasItsJobsBesideIt) {
  In("sharewell.slice/sharewell.service", "max");
  EXPECT_TRUE(BoundOwnMemory(core::Bytes(4e9), root_));
  EXPECT_EQ(Bound("sharewell.slice/sharewell.service"), "4000000000");
}

TEST_F(OwnMemory, WhatAnAdminHasBoundedStays) {
  In("sharewell.slice/sharewell.service/server", "1000");
  EXPECT_TRUE(BoundOwnMemory(core::Bytes(4e9), root_));
  EXPECT_EQ(Bound("sharewell.slice/sharewell.service/server"), "1000\n");
}

TEST_F(OwnMemory, AGroupWithOthersInItIsLeftAlone) {
  for (const char* group : {"user.slice/session-3.scope", "server", ""}) {
    In(group, "max");
    EXPECT_FALSE(BoundOwnMemory(core::Bytes(4e9), root_)) << group;
    EXPECT_EQ(Bound(group), "max\n");
  }
}

TEST(OwnMemoryBound, LeavesTheMachineToItsJobs) {
  EXPECT_GE(OwnMemoryBound().value, 2e9);
  EXPECT_LE(OwnMemoryBound().value, 18e9);
}

}  // namespace
}  // namespace sharewell::platform
