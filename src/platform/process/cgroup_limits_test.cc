#include "platform/process/cgroup_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "platform/files/test_folder.h"
#include "platform/process/child.h"
#include "platform/process/cpu_set.h"

namespace sharewell::platform {
namespace {

using testing::HasSubstr;

TEST(Cgroup, NothingAskedNothingMade) {
  const auto group = Cgroup::Make("job", {});
  EXPECT_TRUE(group->procs().empty());
  EXPECT_TRUE(group->missing().empty());
  EXPECT_EQ(group->folder(), "");
}

// Root or not, delegated or not: each limit is either bounded, or said not to be and why.
TEST(Cgroup, EachLimitIsBoundedOrSaid) {
  std::vector<std::string> made;
  {
    const CgroupLimits limits{.cpus = std::vector<int>{AllowedCpus().front()},
                              .cpu_time = 0.5,
                              .memory = core::Bytes(1 << 28)};
    const auto group = Cgroup::Make("a job/..", limits);
    EXPECT_LE(group->missing().size(), 3U);
    if (group->procs().empty()) {
      EXPECT_EQ(group->missing().size(), 3U);
      EXPECT_THAT(group->missing().front().why, HasSubstr("systemd-run"));
    }
    for (const std::string& procs : group->procs()) {
      made.push_back(std::filesystem::path(procs).parent_path());
      EXPECT_TRUE(std::filesystem::is_directory(made.back())) << made.back();
    }
    const auto child = Child::Start(
        {.command = {"sleep", "60"}, .cgroup_procs = group->procs(), .cgroup = group->folder()});
    ASSERT_TRUE(child) << child.error().message;
    for (const std::string& procs : group->procs()) {
      EXPECT_EQ(TestFolder::Read(procs), std::to_string((*child)->pid()) + "\n") << procs;
    }
  }
  for (const std::string& folder : made) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
}

TEST(Cgroup, OneWithinAnotherIsBoundedByBoth) {
  const auto outer = Cgroup::Make("set", {.memory = core::Bytes(1 << 26)});
  if (outer->procs().empty()) {
    EXPECT_THAT(outer->missing().front().why, HasSubstr("host memory not bounded"));
    return;
  }
  const CgroupLimits own{.memory = core::Bytes(1 << 28)};
  const auto inner = Cgroup::MakeWithin(*outer, "job", own);
  EXPECT_TRUE(inner->missing().empty()) << inner->missing().front().why;
  ASSERT_FALSE(inner->procs().empty());
  EXPECT_THAT(inner->procs().front(),
              HasSubstr(std::filesystem::path(outer->procs().front()).parent_path().string()));
  // It writes 128 MiB, which it alone may have and both may not.
  const auto child = Child::Start(
      {.command = {"python3", "-c", "x = b'x' * (1 << 27); import time; time.sleep(60)"},
       .cgroup_procs = inner->procs(),
       .cgroup = inner->folder()});
  ASSERT_TRUE(child) << child.error().message;
  for (int i = 0; i < 600 && !(*child)->Ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(inner->MemoryKilled());
}

TEST(Cgroup, AMachineWithoutSaysSo) {
  const TestFolder empty;
  const auto group = Cgroup::Make("job", {.memory = core::Bytes(1 << 28)}, empty.path());
  EXPECT_TRUE(group->procs().empty());
  ASSERT_EQ(group->missing().size(), 1U);
  EXPECT_EQ(group->missing()[0].controller, "memory");
  EXPECT_THAT(group->missing()[0].why, HasSubstr("host memory not bounded"));
}

}  // namespace
}  // namespace sharewell::platform
