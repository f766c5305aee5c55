#include "collect/host/power/ipmi.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "collect/host/files.h"
#include "collect/host/power/tool.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"
#include "platform/files/text.h"
#include "platform/process/find_program.h"

namespace sharewell::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostIpmiSensors = 512;
constexpr const char* kDevices[] = {"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"};

struct IpmiTool {
  std::string name;
  std::vector<std::string> power, sensors;
};

std::optional<IpmiTool> FindIpmiTool(const std::string& path) {
  if (const auto dcmi = platform::FindProgram("ipmi-dcmi", path)) {
    IpmiTool tool{"ipmi-dcmi", {*dcmi, "--get-system-power-statistics"}, {}};
    if (const auto sensors = platform::FindProgram("ipmi-sensors", path)) {
      tool.sensors = {*sensors, "--comma-separated-output", "--no-header-output", "--quiet-cache",
                      "--ignore-not-available-sensors"};
    }
    return tool;
  }
  if (const auto program = platform::FindProgram("ipmitool", path)) {
    return IpmiTool{"ipmitool",
                    {*program, "dcmi", "power", "reading"},
                    {*program, "-c", "sdr", "list", "full"}};
  }
  return std::nullopt;
}

class IpmiCollector final : public Collector {
 public:
  IpmiCollector(const std::string& root, IpmiOptions options)
      : files_(root), options_(std::move(options)) {
    if (options_.path.empty()) {
      const char* path = std::getenv("PATH");
      options_.path = std::string(path != nullptr ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin";
    }
    tool_ = FindIpmiTool(options_.path);
  }

  std::string_view Name() const override { return "ipmi"; }
  std::string_view Describe() const override {
    return "power of the whole machine and its sensors, by the management controller (IPMI)";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;

 private:
  std::string Device() {
    for (const char* device : kDevices) {
      if (files_.Exists(device)) return device;
    }
    return {};
  }
  void Work(const std::stop_token& stop);
  void Publish(core::Result<std::vector<core::Reading>> result);

  HostFiles files_;
  IpmiOptions options_;
  std::optional<IpmiTool> tool_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  // Behind mutex_.
  std::vector<core::Reading> latest_;
  std::string failure_;
  std::optional<Clock::time_point> read_;

  std::jthread worker_;  // last: it stops before the others go
};

Health IpmiCollector::Probe() {
  const std::string device = Device();
  if (device.empty() && IsVirtualMachine(files_)) {
    return {Health::State::kAbsent,
            "this is a virtual machine: the management controller is its host's", ""};
  }
  if (device.empty()) {
    return {Health::State::kAbsent,
            "no management controller: /dev/ipmi0 is not there, or its driver is not loaded",
            "sudo modprobe -a ipmi_si ipmi_devintf"};
  }
  if (!tool_) {
    tool_ = FindIpmiTool(options_.path);
    if (!tool_) {
      return {Health::State::kAbsent,
              device + " is there, but no tool that reads it (ipmi-dcmi or ipmitool)",
              "sudo apt-get install freeipmi-tools"};
    }
  }
  if (::access(files_.Full(device).c_str(), R_OK | W_OK) != 0) {
    return {Health::State::kAbsent, fmt::format("only root may use {}", device),
            "sudo sharewell monitor"};
  }
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) {
    return {
        latest_.empty() ? Health::State::kAbsent : Health::State::kPartly, failure_,
        tool_->name == "ipmitool" ? "sudo ipmitool mc reset cold" : "sudo bmc-device --cold-reset"};
  }
  return {Health::State::kWorks,
          fmt::format("{} by {}, every {:g} s{}", device, tool_->name, options_.every.value,
                      read_ ? fmt::format(": {} figures", latest_.size()) : ""),
          ""};
}

void IpmiCollector::Publish(core::Result<std::vector<core::Reading>> result) {
  const std::lock_guard lock(mutex_);
  if (result) {
    latest_ = std::move(*result);
    failure_.clear();
    read_ = Clock::now();
  } else {
    failure_ = std::move(result.error().message);
  }
}

void IpmiCollector::Work(const std::stop_token& stop) {
  Tool runner;
  const auto every = std::chrono::duration<double>(options_.every.value);
  std::vector<core::Reading> sensors;
  for (int round = 0; !stop.stop_requested(); ++round) {
    const auto power = runner.Run(tool_->power, options_.limit, stop);
    core::Result<std::vector<core::Reading>> result = std::vector<core::Reading>();
    if (power) {
      if (const auto watts = ParseDcmiWatts(*power)) {
        Put(*result, kMachinePowerWatts, *watts);
      } else {
        result = core::FailedError("{} says no power: {}", tool_->name,
                                   platform::Quoted(power->substr(0, power->find('\n'))));
      }
    } else {
      result = tl::unexpected(power.error());
    }
    // Sensors take a controller many seconds: every other time, and not while it is in trouble.
    if (power && round % 2 == 0 && !tool_->sensors.empty()) {
      const auto text = runner.Run(tool_->sensors, options_.limit, stop);
      sensors = text ? ParseIpmiSensors(*text) : std::vector<core::Reading>();
    }
    if (!sensors.empty()) {
      if (!result) result = std::vector<core::Reading>();  // no DCMI, but sensors
      result->insert(result->end(), sensors.begin(), sensors.end());
    }
    Publish(std::move(result));
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, every, [] { return false; });
  }
}

core::Result<void> IpmiCollector::Collect(std::vector<core::Reading>& out) {
  Unread unread;
  if (!worker_.joinable()) {
    if (Device().empty()) {
      unread.Add("/dev/ipmi0", ENOENT);
      return unread.Outcome();
    }
    if (!tool_) {
      unread.Add("ipmi-dcmi or ipmitool", ENOENT);
      return unread.Outcome();
    }
    worker_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
  }
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) unread.Add("IPMI", failure_);
  // What a controller said long ago is not how it is now.
  if (!read_ || Clock::now() - *read_ > std::chrono::duration<double>(3 * options_.every.value)) {
    return unread.Outcome();
  }
  out.insert(out.end(), latest_.begin(), latest_.end());
  return unread.Outcome();
}

}  // namespace

std::optional<double> ParseDcmiWatts(std::string_view text) {
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    const std::string_view trimmed = platform::Trimmed(line);
    auto value = AfterKey(trimmed, "Current Power");
    if (!value) value = AfterKey(trimmed, "Instantaneous power reading");
    if (!value) continue;
    const auto watts = AsNumber(TakeWord(*value));
    const std::string_view unit = TakeWord(*value);
    const bool is_watts = unit.starts_with("Watt") || unit.starts_with("watt");
    if (watts && is_watts && *watts > 0 && *watts < 1e6) return watts;
  }
  return std::nullopt;
}

std::vector<core::Reading> ParseIpmiSensors(std::string_view text) {
  std::vector<core::Reading> found;
  Lines lines(text);
  for (std::string_view line; lines.Next(line) && found.size() < kMostIpmiSensors;) {
    const auto fields = platform::SplitList(line, ',');
    // "4,CPU1 Temp,Temperature,45.00,C,'OK'" of freeipmi; "CPU1 Temp,45,degrees C,ok" of ipmitool.
    const bool numbered = fields.size() >= 6 && AsUnsigned(fields[0]);
    if (!numbered && fields.size() < 3) continue;
    const std::string name = CleanName(fields[numbered ? 1 : 0]);
    const auto value = AsNumber(fields[numbered ? 3 : 1]);
    const std::string_view unit = fields[numbered ? 4 : 2];
    if (!value) continue;  // "N/A", "ns": not known now
    const core::Metric* metric = nullptr;
    if (unit == "C" || unit == "degrees C") metric = &kIpmiTemperatureCelsius;
    if (unit == "RPM") metric = &kIpmiFanRpm;
    if (unit == "W" || unit == "Watts") metric = &kIpmiPowerWatts;
    if (metric == nullptr) continue;
    bool is_double = false;
    for (const core::Reading& reading : found) {
      is_double = is_double || (reading.metric == metric && reading.instance == name);
    }
    if (!is_double) Put(found, *metric, *value, name);
  }
  return found;
}

std::unique_ptr<Collector> NewIpmiCollector(const std::string& root, IpmiOptions options) {
  return std::make_unique<IpmiCollector>(root, std::move(options));
}

std::unique_ptr<Collector> NewIpmiCollector(const std::string& root) {
  return NewIpmiCollector(root, IpmiOptions{});
}

}  // namespace sharewell::collect
