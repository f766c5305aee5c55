// The collectors of the machine itself, over recorded and made-up machines.
#include <gtest/gtest.h>

#include <cerrno>

#include "collect/host/cpu.h"
#include "collect/host/disk.h"
#include "collect/host/kernel_argument.h"
#include "collect/host/memory.h"
#include "collect/host/network.h"
#include "collect/host/power/rapl.h"
#include "collect/host/pressure.h"
#include "collect/host/rising.h"
#include "collect/host/test_host.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

const std::string kTwoSocket = "tests/fixtures/host/two_socket";
const std::string kNewer = "tests/fixtures/host/newer_kernel";
const std::string kPlain = "tests/fixtures/host/plain";

// On a machine that is busy with other things a round may not reach every CPU: its turn comes.
std::optional<double> FrequencyOf(Collector& cpu, const std::string& number) {
  for (int round = 0; round < 100; ++round) {
    if (const auto hertz = ValueOf(OneRound(cpu), kCpuFrequencyHertz, number)) return hertz;
  }
  return std::nullopt;
}

TEST(CpuCollector, ReadsTimesFrequencyAndLoad) {
  const auto cpu = NewCpuCollector(kTwoSocket);
  std::vector<core::Reading> readings;
  EXPECT_TRUE(cpu->Collect(readings));
  EXPECT_EQ(ValueOf(readings, kCpuUserSeconds, "2"), 30);
  EXPECT_EQ(ValueOf(readings, kCpuIdleSeconds, "0"), 500);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kCpuOtherSeconds, "3").value(), 0.38);
  EXPECT_EQ(ValueOf(readings, kCpuCount), 4);
  EXPECT_EQ(ValueOf(readings, kLoad5), 2.25);
  EXPECT_EQ(ValueOf(readings, kContextSwitches), 987654321);
  EXPECT_EQ(ValueOf(readings, kTasksBlocked), 1);
  EXPECT_FALSE(ValueOf(readings, kCpuBusyRatio)) << "needs two readings";
  EXPECT_EQ(FrequencyOf(*cpu, "3"), 3.3e9);
}

TEST(CpuCollector, BusyRatioIsOfTheTimeSinceTheReadingBefore) {
  MadeHost host;
  host.Write("/proc/stat", "cpu  100 0 0 100 0 0 0 0\ncpu0 100 0 0 100 0 0 0 0\n");
  const auto cpu = NewCpuCollector(host.root());
  OneRound(*cpu);
  host.Write("/proc/stat", "cpu  130 10 10 120 20 5 5 0\ncpu0 130 10 10 120 20 5 5 0\n");
  EXPECT_DOUBLE_EQ(ValueOf(OneRound(*cpu), kCpuBusyRatio).value(), 0.6);
  // Nothing has moved: there is no ratio, not 0.
  EXPECT_FALSE(ValueOf(OneRound(*cpu), kCpuBusyRatio));
}

TEST(CpuCollector, IdleThatRunsBackALittleIsHeldAndACpuPutInAgainStartsAnew) {
  MadeHost host;
  host.Write("/proc/stat", "cpu  1 0 0 1000 500 0 0 0\ncpu0 1 0 0 1000 500 0 0 0\n");
  const auto cpu = NewCpuCollector(host.root());
  OneRound(*cpu);
  host.Write("/proc/stat", "cpu  1 0 0 1010 490 0 0 0\ncpu0 1 0 0 1010 490 0 0 0\n");
  auto readings = OneRound(*cpu);
  EXPECT_EQ(ValueOf(readings, kCpuIowaitSeconds, "0"), 5);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kCpuIdleSeconds, "0").value(), 10.1);
  host.Write("/proc/stat", "cpu  1 0 0 10 0 0 0 0\ncpu0 1 0 0 10 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(ValueOf(OneRound(*cpu), kCpuIdleSeconds, "0").value(), 0.1);
  // Taken out: no figures of it, and the others go on.
  host.Write("/proc/stat", "cpu  1 0 0 10 0 0 0 0\n");
  EXPECT_FALSE(ValueOf(OneRound(*cpu), kCpuIdleSeconds, "0"));
}

TEST(CpuCollector, SaysWhatIsMissingAndGivesTheRest) {
  MadeHost host;
  host.Write("/proc/loadavg", "1.00 2.00 3.00 1/1 1\n");
  const auto cpu = NewCpuCollector(host.root());
  std::vector<core::Reading> readings;
  const auto result = cpu->Collect(readings);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("/proc/stat"), std::string::npos);
  EXPECT_EQ(result.error().kind, core::ErrorKind::kAbsent);
  EXPECT_EQ(ValueOf(readings, kLoad1), 1);
  EXPECT_EQ(cpu->Probe().state, Health::State::kAbsent);
}

TEST(CpuCollector, FrequencyByCpuinfoWhereThereIsNoCpufreq) {
  const auto cpu = NewCpuCollector(kPlain);
  EXPECT_EQ(FrequencyOf(*cpu, "1"), 2e9);
  EXPECT_NE(cpu->Probe().what.find("/proc/cpuinfo"), std::string::npos);
}

TEST(ParseStat, LeavesOutWhatItCannotRead) {
  CpuStat stat;
  ParseStat(
      "cpu  1 2 3 4 5 6 7 8\n"
      "cpu0 1 2 3 4 5 6 7 99999999999999999999999\n"
      "cpu1 1 2 3\n"
      "cpu2 1 2 3 4 5 6 7 8 9 10 11\n"
      "cpu2 9 9 9 9 9 9 9 9\n"
      "cpux 1 2 3 4 5 6 7 8\n"
      "cpu99999999999 1 2 3 4 5 6 7 8\n"
      "cpu3 1 2 3 4 5 6 7 8",  // cut short
      stat);
  ASSERT_TRUE(stat.all);
  EXPECT_EQ(stat.all->steal, 8U);
  ASSERT_EQ(stat.cpus.size(), 1U);
  EXPECT_EQ(stat.cpus[0].first, 2);
  EXPECT_EQ(stat.cpus[0].second.user, 1U);
  EXPECT_FALSE(stat.context_switches);
}

TEST(MemoryCollector, ReadsMeminfoAndVmstat) {
  const auto memory = NewMemoryCollector(kTwoSocket);
  std::vector<core::Reading> readings;
  EXPECT_TRUE(memory->Collect(readings));
  EXPECT_EQ(ValueOf(readings, kMemoryTotalBytes), 263856412.0 * 1024);
  EXPECT_EQ(ValueOf(readings, kMemoryUsedBytes), 63856412.0 * 1024);
  EXPECT_EQ(ValueOf(readings, kMemoryCachedBytes), 9e7 * 1024);
  EXPECT_EQ(ValueOf(readings, kMemoryDirtyBytes), 2048.0 * 1024);
  EXPECT_EQ(ValueOf(readings, kSwapFreeBytes), 8388000.0 * 1024);
  EXPECT_EQ(ValueOf(readings, kMajorPageFaults), 4321);
  EXPECT_EQ(ValueOf(readings, kOomKills), 2);
  EXPECT_EQ(memory->Probe().what, "251.6 GiB");
}

TEST(MemoryCollector, AvailableThatIsNotSaidIsNotZero) {
  const auto memory = NewMemoryCollector("tests/fixtures/host/cgroup_v1");
  std::vector<core::Reading> readings;
  EXPECT_FALSE(memory->Collect(readings)) << "there is no vmstat";
  EXPECT_EQ(ValueOf(readings, kMemoryFreeBytes), 500000.0 * 1024);
  EXPECT_FALSE(ValueOf(readings, kMemoryAvailableBytes));
  EXPECT_FALSE(ValueOf(readings, kMemoryUsedBytes));
  EXPECT_FALSE(ValueOf(readings, kPageFaults));
}

TEST(NumaCollector, ReadsEachNode) {
  const auto numa = NewNumaCollector(kTwoSocket);
  const auto readings = OneRound(*numa);
  EXPECT_EQ(ValueOf(readings, kNumaMemoryFreeBytes, "1"), 4e7 * 1024);
  EXPECT_EQ(ValueOf(readings, kNumaMisses, "1"), 100);
  EXPECT_EQ(ValueOf(readings, kNumaRemotePages, "0"), 0);
  EXPECT_EQ(ValueOf(readings, kNumaRemotePages, "1"), 100001);
  EXPECT_EQ(numa->Probe().what, "2 nodes");
}

TEST(DiskCollector, ReadsWholeDisksOnly) {
  const auto disk = NewDiskCollector(kTwoSocket);
  const auto readings = OneRound(*disk);
  EXPECT_EQ(ValueOf(readings, kDiskReadBytes, "nvme0n1"), 2048000.0 * 512);
  EXPECT_EQ(ValueOf(readings, kDiskWrites, "nvme0n1"), 2000);
  EXPECT_EQ(ValueOf(readings, kDiskBusySeconds, "nvme0n1"), 7);
  EXPECT_EQ(ValueOf(readings, kDiskInFlight, "nvme0n1"), 3);
  EXPECT_FALSE(ValueOf(readings, kDiskReadBytes, "nvme0n1p1"));
  EXPECT_EQ(disk->Probe().what, "dm-0, nvme0n1, sda");
}

TEST(DiskCollector, MillisecondsThatWrapGoOnAndADiskPulledOutIsGone) {
  MadeHost host;
  host.Write("/sys/block/sda/size", "1\n");
  const auto line = [&](std::string_view busy) {
    host.Write("/proc/diskstats", fmt::format(" 8 0 sda 1 0 2 3 4 0 5 6 0 {} 8\n", busy));
  };
  line("4294967290");
  const auto disk = NewDiskCollector(host.root());
  EXPECT_DOUBLE_EQ(ValueOf(OneRound(*disk), kDiskBusySeconds, "sda").value(), 4294967.290);
  line("10");
  EXPECT_DOUBLE_EQ(ValueOf(OneRound(*disk), kDiskBusySeconds, "sda").value(), 4294967.306);
  host.Write("/proc/diskstats", " 8 16 sdb 1 0 2 3 4 0 5 6 0 7 8\n");
  EXPECT_TRUE(OneRound(*disk).empty());
  EXPECT_EQ(disk->Probe().state, Health::State::kAbsent);
}

TEST(NetworkCollector, ReadsDevicesThatCarrySomething) {
  const auto network = NewNetworkCollector(kTwoSocket);
  const auto readings = OneRound(*network);
  EXPECT_EQ(ValueOf(readings, kNetworkReceiveBytes, "eno1"), 123456789012.0);
  EXPECT_EQ(ValueOf(readings, kNetworkTransmitDrops, "eno1"), 4);
  EXPECT_FALSE(ValueOf(readings, kNetworkReceiveBytes, "ib0")) << "never carried a packet";
  EXPECT_FALSE(ValueOf(readings, kNetworkReceiveBytes, "veth12"));
}

TEST(PressureCollector, ReadsTotals) {
  const auto pressure = NewPressureCollector(kTwoSocket, nullptr);
  const auto readings = OneRound(*pressure);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kPressureCpuWaitingSeconds).value(), 1.5);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kPressureIoStalledSeconds).value(), 0.25);
  EXPECT_EQ(pressure->Probe().state, Health::State::kWorks);
  MadeHost none;
  const auto absent = NewPressureCollector(none.root(), nullptr);
  EXPECT_NE(absent->Probe().mend.find("psi=1"), std::string::npos);
}

TEST(RaplCollector, WrapsAreUnwoundAndItBeginsAtZero) {
  MadeHost host;
  const std::string zone = "/sys/class/powercap/intel-rapl:0";
  host.Write(zone + "/name", "package-0\n");
  host.Write(zone + "/max_energy_range_uj", "999999\n");
  host.Write(zone + "/energy_uj", "900000\n");
  host.Write("/sys/class/powercap/intel-rapl:0:0/name", "dram\n");
  host.Write("/sys/class/powercap/intel-rapl:0:0/energy_uj", "oops\n");
  host.Write("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
  host.Write("/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "5\n");
  const auto rapl = NewRaplCollector(host.root());
  std::vector<core::Reading> readings;
  const auto result = rapl->Collect(readings);
  ASSERT_FALSE(result) << "the memory's counter is no number";
  EXPECT_NE(result.error().message.find("intel-rapl:0:0/energy_uj"), std::string::npos);
  EXPECT_EQ(ValueOf(readings, kRaplPackageJoules, "0"), 0);
  EXPECT_FALSE(ValueOf(readings, kRaplDramJoules, "0"));
  host.Write(zone + "/energy_uj", "100000\n");
  EXPECT_NEAR(ValueOf(OneRound(*rapl), kRaplPackageJoules, "0").value(), 0.2, 1e-5);
  // It stops: the counter stays where it is.
  EXPECT_NEAR(ValueOf(OneRound(*rapl), kRaplPackageJoules, "0").value(), 0.2, 1e-5);
  host.Remove(zone + "/energy_uj");
  EXPECT_NEAR(ValueOf(OneRound(*rapl), kRaplPackageJoules, "0").value_or(-1), 0.2, 1e-5)
      << "an open file outlives its name";
}

TEST(RaplCollector, NamesPackagesAndTheirParts) {
  const auto rapl = NewRaplCollector(kTwoSocket);
  const auto readings = OneRound(*rapl);
  EXPECT_EQ(ValueOf(readings, kRaplPackageJoules, "1"), 0);
  EXPECT_EQ(ValueOf(readings, kRaplDramJoules, "1"), 0);
  EXPECT_EQ(rapl->Probe().what, "4 energy domains");
  EXPECT_EQ(RaplDomainOf("package-0-die-1")->index, "0-die-1");
  EXPECT_FALSE(RaplDomainOf("package-"));
  EXPECT_FALSE(RaplDomainOf("gpu"));
}

TEST(RaplHealth, SaysWhoMayReadAndHowToLetOthers) {
  const Health denied = RaplHealth(4, 0, EACCES, {});
  EXPECT_EQ(denied.state, Health::State::kAbsent);
  EXPECT_EQ(denied.mend, "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj");
  EXPECT_EQ(RaplHealth(4, 3, EACCES, {}).state, Health::State::kPartly);
  EXPECT_EQ(RaplHealth(0, 0, 0, {.virtual_machine = true}).mend, "")
      << "nothing can be mended in a virtual machine";
  EXPECT_NE(RaplHealth(0, 0, 0, {}).mend.find("modprobe"), std::string::npos);
  EXPECT_EQ(RaplHealth(4, 0, EIO, {}).mend, "");
}

TEST(RaplHealth, F25_NoDriverIsAdvisedWhereNoneCanHelp) {
  const Health arm = RaplHealth(0, 0, 0, {.virtual_machine = false, .x86 = false});
  EXPECT_EQ(arm.state, Health::State::kAbsent);
  EXPECT_EQ(arm.mend, "");
}

TEST(AddKernelArgument, F25_NamesTheToolThatIsHere) {
  MadeHost host;
  HostFiles files(host.root());
  EXPECT_EQ(AddKernelArgument(files, "psi=1"),
            "add psi=1 to the kernel's command line in your boot loader, and reboot");
  host.Write("/usr/sbin/update-grub", "");
  EXPECT_NE(AddKernelArgument(files, "psi=1").find("&& sudo update-grub"), std::string::npos);
  host.Write("/usr/sbin/grubby", "");
  EXPECT_NE(AddKernelArgument(files, "psi=1").find("sudo grubby"), std::string::npos);
}

TEST(HwmonCollector, ReadsSensorsAndLeavesOutNonsense) {
  const auto hwmon = NewHwmonCollector(kTwoSocket);
  std::vector<core::Reading> readings;
  // A slow machine may need more than one round to reach all sensors.
  for (int round = 0; round < 20; ++round) EXPECT_TRUE(hwmon->Collect(readings));
  const auto last = [&](const core::Metric& metric, std::string_view instance) {
    std::optional<double> value;
    for (const auto& reading : readings) {
      if (reading.metric == &metric && reading.instance == instance) value = reading.value;
    }
    return value;
  };
  EXPECT_EQ(last(kTemperatureCelsius, "coretemp.1/Package id 1"), 68);
  EXPECT_EQ(last(kTemperatureCelsius, "coretemp.0/Core 0"), 55);
  EXPECT_DOUBLE_EQ(last(kTemperatureCelsius, "nvme/Composite").value(), 38.85);
  EXPECT_EQ(last(kFanRpm, "nct6775/fan1"), 5200);
  EXPECT_EQ(last(kSensorPowerWatts, "power_meter/power1"), 412);
  EXPECT_EQ(last(kCpuTemperatureCelsius, ""), 68);
  EXPECT_FALSE(last(kFanRpm, "nct6775/fan2"));
  EXPECT_FALSE(last(kTemperatureCelsius, "nct6775/temp1")) << "-128 is no temperature";
}

TEST(NewerKernel, MoreColumnsAndLinesAreReadPast) {
  const auto cpu = OneRound(*NewCpuCollector(kNewer));
  EXPECT_EQ(ValueOf(cpu, kCpuCount), 2);
  EXPECT_EQ(ValueOf(cpu, kContextSwitches), 42);
  const auto memory = OneRound(*NewMemoryCollector(kNewer));
  EXPECT_EQ(ValueOf(memory, kMemoryTotalBytes), 4194304.0 * 1024) << "the first of two counts";
  EXPECT_EQ(ValueOf(memory, kPageFaults), 10);
  EXPECT_FALSE(ValueOf(memory, kMajorPageFaults));
  const auto disk = OneRound(*NewDiskCollector(kNewer));
  EXPECT_EQ(ValueOf(disk, kDiskBusySeconds, "nvme0n1"), 7);
  EXPECT_FALSE(ValueOf(disk, kDiskReads, "broken"));
  const auto network = OneRound(*NewNetworkCollector(kNewer));
  EXPECT_EQ(ValueOf(network, kNetworkTransmitBytes, "eth0"), 2000);
  EXPECT_FALSE(ValueOf(network, kNetworkReceiveBytes, "bad0"));
  const auto pressure = OneRound(*NewPressureCollector(kNewer, nullptr));
  EXPECT_EQ(ValueOf(pressure, kPressureMemoryStalledSeconds), 0.5);
}

TEST(Rising, WrapsRestartsAndStops) {
  Rising counter;
  EXPECT_EQ(counter.From(10, 100), 10);
  EXPECT_EQ(counter.From(90, 100), 90);
  EXPECT_EQ(counter.From(5, 100), 105) << "a wrap";
  EXPECT_EQ(counter.From(40, 100), 140);
  EXPECT_EQ(counter.From(20, 100), 160) << "less than half back: it began again at 0";
  EXPECT_EQ(counter.From(20, 100), 160);
  Rising endless;
  EXPECT_EQ(endless.From(50, 0), 50);
  EXPECT_EQ(endless.From(7, 0), 57);
}

}  // namespace
}  // namespace sharewell::collect
