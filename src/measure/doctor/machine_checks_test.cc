#include "measure/doctor/machine_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::measure {
namespace {

using ::testing::HasSubstr;

class MachineChecksTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view contents) const {
    const std::filesystem::path path = folder_.Path(name);
    std::filesystem::create_directories(path.parent_path());
    folder_.Write(name, contents);
  }
  HealthRow Check(const std::string& name) const {
    const auto rows =
        CheckMachine({.root = folder_.path(), .path = folder_.Path("bin"), .nvml_library = ""});
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const HealthRow& r) { return r.name == name; });
    return row == rows.end() ? HealthRow{} : *row;
  }

  platform::TestFolder folder_;
};

TEST_F(MachineChecksTest, ControlGroups) {
  EXPECT_EQ(Check("cgroup").soundness, Soundness::kAbsent);
  Write("sys/fs/cgroup/memory/x", "");
  EXPECT_EQ(Check("cgroup").soundness, Soundness::kPartly);
  EXPECT_THAT(Check("cgroup").what, HasSubstr("version 1"));

  Write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  Write("proc/self/cgroup", "0::/user.slice/me\n");
  Write("sys/fs/cgroup/user.slice/me/cgroup.controllers", "cpu memory\n");
  EXPECT_EQ(Check("cgroup").soundness, Soundness::kPartly);
  EXPECT_THAT(Check("cgroup").what,
              HasSubstr("controllers cpu memory; without cpuset, io; no group"));
  EXPECT_THAT(Check("cgroup").mend, HasSubstr("Delegate=yes"));

  Write("sys/fs/cgroup/user.slice/me/cgroup.controllers", "cpuset cpu io memory pids\n");
  Write("sys/fs/cgroup/user.slice/me/cgroup.procs", "");
  Write("sys/fs/cgroup/user.slice/me/cgroup.subtree_control", "");
  EXPECT_EQ(Check("cgroup").soundness, Soundness::kWorks);
  EXPECT_EQ(Check("cgroup").mend, "");
}

TEST_F(MachineChecksTest, Clocks) {
  EXPECT_EQ(Check("clock").soundness, Soundness::kAbsent);
  const std::string folder = "sys/devices/system/clocksource/clocksource0/";
  Write(folder + "current_clocksource", "tsc\n");
  EXPECT_EQ(Check("clock").soundness, Soundness::kWorks);
  Write(folder + "current_clocksource", "hpet\n");
  EXPECT_EQ(Check("clock").soundness, Soundness::kPartly);
  EXPECT_EQ(Check("clock").mend, "");
  Write(folder + "available_clocksource", "tsc hpet\n");
  EXPECT_THAT(Check("clock").mend, HasSubstr("echo tsc"));
}

TEST_F(MachineChecksTest, Perf) {
  EXPECT_EQ(Check("perf permission").soundness, Soundness::kAbsent);
  Write("proc/sys/kernel/perf_event_paranoid", "-1\n");
  EXPECT_EQ(Check("perf permission").soundness, Soundness::kWorks);
}

TEST_F(MachineChecksTest, Runtimes) {
  EXPECT_EQ(Check("podman").soundness, Soundness::kAbsent);
  Write("bin/podman", "#!/bin/sh\n");
  ::chmod(folder_.Path("bin/podman").c_str(), 0755);
  EXPECT_EQ(Check("podman").soundness, Soundness::kWorks);
  EXPECT_EQ(Check("docker").soundness, Soundness::kAbsent);
}

TEST_F(MachineChecksTest, WhoSharesAGpuAtTheSameTime) {
  const MachinePlaces places{
      .root = folder_.path(), .path = folder_.Path("bin"), .nvml_library = ""};
  EXPECT_THAT(CheckMps(places).what, HasSubstr("by turns only"));
  Write("bin/nvidia-cuda-mps-control", "#!/bin/sh\necho usage: -d\n");
  ::chmod(folder_.Path("bin/nvidia-cuda-mps-control").c_str(), 0755);
  EXPECT_EQ(CheckMps(places).soundness, Soundness::kWorks);
  EXPECT_THAT(CheckMps(places).what, HasSubstr("different users by turns"));
  Write("bin/nvidia-cuda-mps-control", "#!/bin/sh\necho ' -M, --multiuser-server'\n");
  EXPECT_THAT(CheckMps(places).what, HasSubstr("jobs of all users"));
}

}  // namespace
}  // namespace sharewell::measure
