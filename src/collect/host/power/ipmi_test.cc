// IPMI: tools that answer, hang, and print rubbish.
#include "collect/host/power/ipmi.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "collect/host/power/tool.h"
#include "collect/host/test_host.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

using Clock = std::chrono::steady_clock;

class Ipmi : public testing::Test {
 protected:
  void SetUp() override { host_.Write("/dev/ipmi0", ""); }
  void Tool(const std::string& name, const std::string& script) {
    host_.Write("/bin/" + name, "#!/bin/sh\n" + script);
    ::chmod((host_.root() + "/bin/" + name).c_str(), 0755);
  }
  std::unique_ptr<Collector> New(double limit = 20) {
    return NewIpmiCollector(host_.root(), {.path = host_.root() + "/bin",
                                           .every = core::Seconds(0.05),
                                           .limit = core::Seconds(limit)});
  }
  // Asks until `done`, at most half a minute.
  template <class Done>
  static bool Until(const Done& done) {
    for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  MadeHost host_;
};

TEST_F(Ipmi, GivesPowerAndSensors) {
  Tool("ipmi-dcmi", "echo 'Current Power                        : 412 Watts'\n");
  Tool("ipmi-sensors",
       "echo \"4,CPU1 Temp,Temperature,45.00,C,'OK'\"\n"
       "echo \"5,Fan 1,Fan,N/A,RPM,N/A\"\n");
  const auto ipmi = New();
  std::vector<core::Reading> readings;
  ASSERT_TRUE(Until([&] {
    readings = OneRound(*ipmi);
    return !readings.empty();
  }));
  EXPECT_EQ(ValueOf(readings, kMachinePowerWatts), 412);
  EXPECT_EQ(ValueOf(readings, kIpmiTemperatureCelsius, "CPU1 Temp"), 45);
  EXPECT_FALSE(ValueOf(readings, kIpmiFanRpm, "Fan 1"));
  EXPECT_EQ(ipmi->Probe().state, Health::State::kWorks);
}

TEST_F(Ipmi, AToolThatHangsNeverHoldsUpCollect) {
  Tool("ipmitool", "sleep 600\n");
  const auto ipmi = New(0.2);
  const auto begin = Clock::now();
  EXPECT_TRUE(OneRound(*ipmi).empty());
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  ASSERT_TRUE(Until([&] { return ipmi->Probe().what.find("killed") != std::string::npos; }));
  EXPECT_EQ(ipmi->Probe().state, Health::State::kAbsent);
  std::vector<core::Reading> readings;
  EXPECT_FALSE(ipmi->Collect(readings));
  EXPECT_TRUE(readings.empty());
}

TEST_F(Ipmi, StoppingDoesNotWaitForAToolThatHangs) {
  Tool("ipmitool", "sleep 600\n");
  auto ipmi = New(500);
  OneRound(*ipmi);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto begin = Clock::now();
  ipmi.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(Ipmi, RubbishIsSaidNotBelieved) {
  Tool("ipmitool", "printf '\\001\\033[31m garbage \\377\\n'; exit 0\n");
  const auto ipmi = New();
  OneRound(*ipmi);
  ASSERT_TRUE(Until([&] { return ipmi->Probe().what.find("says no power") != std::string::npos; }));
  EXPECT_EQ(ipmi->Probe().what.find('\033'), std::string::npos);
  EXPECT_TRUE(OneRound(*ipmi).empty());
}

TEST_F(Ipmi, SaysWhatIsMissing) {
  EXPECT_EQ(New()->Probe().mend, "sudo apt-get install freeipmi-tools");
  host_.Remove("/dev/ipmi0");
  EXPECT_EQ(New()->Probe().mend, "sudo modprobe -a ipmi_si ipmi_devintf");
  std::vector<core::Reading> readings;
  EXPECT_EQ(New()->Collect(readings).error().kind, core::ErrorKind::kAbsent);
  host_.Write("/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n");
  EXPECT_EQ(New()->Probe().mend, "");
}

TEST(ToolRun, SaysHowItFailed) {
  Tool tool;
  const auto run = [&](const std::string& script) {
    return tool.Run({"/bin/sh", "-c", script}, core::Seconds(20), {});
  };
  EXPECT_EQ(run("echo a; echo b >&2").value(), "a\nb\n");
  EXPECT_NE(run("echo no device; exit 3").error().message.find("exit code 3): 'no device'"),
            std::string::npos);
  EXPECT_NE(run("kill -9 $$").error().message.find("failed"), std::string::npos);
  const auto missing = tool.Run({"/no/such/tool"}, core::Seconds(1), {});
  EXPECT_NE(missing.error().message.find("cannot be started"), std::string::npos);
  // A flood is cut, not kept.
  EXPECT_LT(run("head -c 3000000 /dev/zero").value().size(), 300'000U);
}

TEST(ParseDcmiWatts, ReadsBothTools) {
  EXPECT_EQ(ParseDcmiWatts("\n    Instantaneous power reading:                   220 Watts\n"),
            220);
  EXPECT_EQ(ParseDcmiWatts("Current Power : 164 Watts\n"), 164);
  EXPECT_FALSE(ParseDcmiWatts("Current Power : 0 Watts\n"));
  EXPECT_FALSE(ParseDcmiWatts("Current Power : 164\n"));
  EXPECT_FALSE(ParseDcmiWatts("Minimum Power over sampling duration : 1 watts\n"));
}

TEST(ParseIpmiSensors, ReadsBothTools) {
  const auto readings = ParseIpmiSensors(
      "Inlet Temp,23,degrees C,ok\nFan1,5880,RPM,ok\nPwr Consumption,182,Watts,ok\n"
      "PSU,0x01,discrete,ok\nVcore,1.8,Volts,ok\nInlet Temp,99,degrees C,ok\n,,,\n"
      "12,Exhaust,Temperature,31.50,C,'OK'\n");
  EXPECT_EQ(ValueOf(readings, kIpmiTemperatureCelsius, "Inlet Temp"), 23);
  EXPECT_EQ(ValueOf(readings, kIpmiFanRpm, "Fan1"), 5880);
  EXPECT_EQ(ValueOf(readings, kIpmiPowerWatts, "Pwr Consumption"), 182);
  EXPECT_EQ(ValueOf(readings, kIpmiTemperatureCelsius, "Exhaust"), 31.5);
  EXPECT_EQ(readings.size(), 4U);
}

}  // namespace
}  // namespace sharewell::collect
