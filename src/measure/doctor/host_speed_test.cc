#include "measure/doctor/host_speed.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::measure {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

HostSpeed Measured() {
  HostSpeed speed;
  speed.memory_bandwidth = core::GBps(24.1);
  speed.one_core = core::GBps(11.3);
  speed.spread = 0.02;
  speed.measured = 1794787200000;
  return speed;
}

TEST(HostSpeedTest, IsKeptForItsMachineAlone) {
  const platform::TestFolder folder;
  const std::string state = folder.Path("state");
  EXPECT_FALSE(KeptHostSpeed(state, "box, X, 2 CPUs")) << "nothing was measured";
  ASSERT_TRUE(KeepHostSpeed(state, "box, X, 2 CPUs", Measured()));
  EXPECT_EQ(KeptHostSpeed(state, "box, X, 2 CPUs"), Measured());
  EXPECT_FALSE(KeptHostSpeed(state, "box, Y, 2 CPUs")) << "a folder may move to another machine";
}

TEST(HostSpeedTest, WhatCannotBeReadIsNotKnown) {
  const platform::TestFolder folder;
  for (const char* text :
       {"", "{", "[]", R"({"schema":2,"machine":"m","memory_bandwidth_bytes_per_second":1})",
        R"({"schema":1,"machine":"m","memory_bandwidth_bytes_per_second":-1})",
        R"({"schema":1,"machine":"m","memory_bandwidth_bytes_per_second":"1"})",
        R"({"schema":1,"machine":"m"})"}) {
    folder.Write("host-speed", text);
    EXPECT_FALSE(KeptHostSpeed(folder.path(), "m")) << text;
  }
  folder.Write("host-speed", R"({"schema":1,"machine":"m","memory_bandwidth_bytes_per_second":5})");
  const auto least = KeptHostSpeed(folder.path(), "m");
  ASSERT_TRUE(least);
  EXPECT_EQ(least->memory_bandwidth, core::BytesPerSecond(5));
  EXPECT_FALSE(least->one_core);
}

TEST(HostSpeedTest, AMachineIsToldByItsProcessor) {
  const platform::TestFolder folder;
  std::filesystem::create_directories(folder.Path("proc"));
  folder.Write("proc/cpuinfo", "processor : 0\nmodel name\t: Xeon 8480\nmodel name\t: Xeon 8480\n");
  EXPECT_THAT(MachineKey(folder.path()), HasSubstr(", Xeon 8480, "));
  folder.Write("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n");
  EXPECT_THAT(MachineKey(folder.path()), HasSubstr(", arm 0x41 0xd4f, "));
  folder.Write("proc/cpuinfo", "");
  EXPECT_THAT(MachineKey(folder.path()), HasSubstr("unknown processor"));
  EXPECT_THAT(MachineKey(folder.path()), EndsWith(" CPUs"));
}

TEST(HostSpeedTest, SaysWhatWasMeasuredAndWhen) {
  EXPECT_EQ(InWords(Measured()),
            "memory moves 24.10 GB/s, 11.30 GB/s by one core (measured 2026-11-16, repeats within "
            "2 %)");
}

HostProbe Probed(double times) {
  HostProbe probe = ReferenceProbe();
  for (auto* figure : {&probe.launches, &probe.pipe_trips, &probe.loader_items}) {
    **figure *= times;
  }
  probe.measured = 1794787200000;
  return probe;
}

TEST(HostProbeTest, IsKeptForItsMachineAlone) {
  const platform::TestFolder folder;
  EXPECT_FALSE(KeptHostProbe(folder.path(), "m"));
  HostProbe without_gpu = Probed(1);
  without_gpu.launches = without_gpu.launch_waits = without_gpu.loader_items = std::nullopt;
  for (const HostProbe& probe : {Probed(2), without_gpu}) {
    ASSERT_TRUE(KeepHostProbe(folder.path(), "m", probe));
    EXPECT_EQ(KeptHostProbe(folder.path(), "m"), probe);
  }
  EXPECT_FALSE(KeptHostProbe(folder.path(), "n"));
  folder.Write("host-probe", "[1]");
  EXPECT_FALSE(KeptHostProbe(folder.path(), "m"));
}

TEST(HostProbeTest, AHostWithinTheNoiseOfTheProbeIsTheReferenceHost) {
  for (const double times : {0.8, 1.0, 1.25}) EXPECT_EQ(HostTime(Probed(times)), 1) << times;
}

TEST(HostProbeTest, ASlowerHostTakesLongerAndAFasterOneLess) {
  EXPECT_NEAR(*HostTime(Probed(0.5)), 2 / 1.3, 1e-9);
  EXPECT_NEAR(*HostTime(Probed(2)), 1.3 / 2, 1e-9);
  EXPECT_EQ(*HostTime(Probed(0.001)), 4)
      << "whatever a probe says, a host is no hundred times slower";
}

TEST(HostProbeTest, AMachineWithoutAGpuIsNobodysHost) {
  HostProbe probe = Probed(0.5);
  probe.launches = std::nullopt;
  EXPECT_FALSE(HostTime(probe));
}

TEST(HostProbeTest, SaysWhatItFound) {
  EXPECT_EQ(InWords(Probed(1)),
            "108887 kernels launched, 4614 images loaded, 75297 processes woken a second (measured "
            "2026-11-16)");
}

}  // namespace
}  // namespace sharewell::measure
