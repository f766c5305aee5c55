// Sensors of the board, processors and disks: /sys/class/hwmon.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <string>

#include "collect/host/files.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kHwmon = "/sys/class/hwmon";
constexpr int kLookAgainRounds = 60;
constexpr std::size_t kMostSensors = 512;
// Some sensors sit behind a slow bus: those not reached in this time have their turn in the next
// round.
constexpr auto kSensorBudget = std::chrono::milliseconds(3);

bool IsProcessor(std::string_view chip) {
  for (const std::string_view known :
       {"coretemp", "k10temp", "zenpower", "cpu_thermal", "fam15h_power", "soc_thermal"}) {
    if (chip == known) return true;
  }
  return false;
}

class HwmonCollector final : public Collector {
 public:
  explicit HwmonCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "hwmon"; }
  std::string_view Describe() const override {
    return "temperatures, fans and power by the board's sensors";
  }

  Health Probe() override {
    FindSensors();
    if (sensors_.empty() && IsVirtualMachine(files_)) {
      return {Health::State::kAbsent, "this is a virtual machine: the sensors are its host's", ""};
    }
    if (sensors_.empty()) {
      return {Health::State::kAbsent, "no sensors in /sys/class/hwmon: no driver is loaded",
              "sudo apt-get install lm-sensors && sudo sensors-detect --auto"};
    }
    int temperatures = 0, fans = 0, powers = 0;
    for (const Sensor& sensor : sensors_) {
      temperatures += sensor.metric == &kTemperatureCelsius ? 1 : 0;
      fans += sensor.metric == &kFanRpm ? 1 : 0;
      powers += sensor.metric == &kSensorPowerWatts ? 1 : 0;
    }
    return {Health::State::kWorks,
            fmt::format("{} temperatures, {} fans, {} power sensors", temperatures, fans, powers),
            ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    if (rounds_++ % kLookAgainRounds == 0) FindSensors();
    if (sensors_.empty()) unread.Add(kHwmon, ENOENT);
    const auto begin = Clock::now();
    std::size_t failed = 0;
    for (std::size_t i = 0; i < sensors_.size() && Clock::now() - begin < kSensorBudget; ++i) {
      next_ = (next_ + 1) % sensors_.size();
      Sensor& sensor = sensors_[next_];
      sensor.latest = ReadSensor(sensor);
      if (sensor.latest) {
        Put(out, *sensor.metric, *sensor.latest, sensor.name);
      } else if (++failed == sensors_.size()) {
        unread.Add(kHwmon, "no sensor answers");
      }
    }
    std::optional<double> hottest;
    for (const Sensor& sensor : sensors_) {
      if (sensor.is_processor && sensor.latest) {
        hottest = std::max(hottest.value_or(*sensor.latest), *sensor.latest);
      }
    }
    if (hottest) Put(out, kCpuTemperatureCelsius, *hottest);
    return unread.Outcome();
  }

 private:
  struct Sensor {
    const core::Metric* metric = nullptr;
    std::string name;  // "coretemp/Package id 0"
    std::string path;
    double scale = 1;  // of the file's number
    bool is_processor = false;
    std::optional<double> latest = {};
  };

  // A sensor that is not connected reads as an error or as nonsense; then there is no figure.
  std::optional<double> ReadSensor(const Sensor& sensor) {
    auto text = files_.Read(sensor.path);
    if (!text) return std::nullopt;
    const auto raw = AsSigned(TakeWord(*text));
    if (!raw) return std::nullopt;
    const double value = static_cast<double>(*raw) * sensor.scale;
    const bool sane = sensor.metric == &kTemperatureCelsius ? value > -100 && value < 250
                                                            : value >= 0 && value < 1e6;
    return sane ? std::optional(value) : std::nullopt;
  }

  void FindSensors();
  void AddChip(const std::string& folder, const std::string& chip, const std::string& shown);

  HostFiles files_;
  std::vector<Sensor> sensors_;
  std::size_t next_ = 0;
  int rounds_ = 0;
};

void HwmonCollector::FindSensors() {
  // Chips of the same kind (one a socket) are told apart by the order of their devices, which
  // stays the same over a reboot where hwmonN may not.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> chips;
  for (const std::string& name : files_.Names(kHwmon)) {
    const std::string folder = fmt::format("{}/{}", kHwmon, name);
    const auto chip = files_.Line(folder + "/name");
    if (chip) chips[CleanName(*chip)].emplace_back(files_.LinkTarget(folder + "/device"), folder);
  }
  sensors_.clear();
  next_ = 0;
  for (auto& [chip, folders] : chips) {
    std::sort(folders.begin(), folders.end());
    for (std::size_t i = 0; i < folders.size(); ++i) {
      AddChip(folders[i].second, chip, folders.size() == 1 ? chip : fmt::format("{}.{}", chip, i));
    }
  }
}

void HwmonCollector::AddChip(const std::string& folder, const std::string& chip,
                             const std::string& shown) {
  struct Kind {
    std::string_view prefix, suffix;
    const core::Metric* metric;
    double scale;
  };
  constexpr Kind kKinds[] = {{"temp", "_input", &kTemperatureCelsius, 1e-3},
                             {"fan", "_input", &kFanRpm, 1},
                             {"power", "_input", &kSensorPowerWatts, 1e-6},
                             {"power", "_average", &kSensorPowerWatts, 1e-6}};
  const auto names = files_.Names(folder);
  std::vector<std::string> taken;
  for (const Kind& kind : kKinds) {
    for (const std::string& file : names) {
      if (!file.starts_with(kind.prefix) || !file.ends_with(kind.suffix)) continue;
      const std::string sensor = file.substr(0, file.size() - kind.suffix.size());
      if (!AsUnsigned(std::string_view(sensor).substr(kind.prefix.size()))) continue;
      std::string label =
          CleanName(files_.Line(fmt::format("{}/{}_label", folder, sensor)).value_or(sensor));
      if (std::find(taken.begin(), taken.end(), sensor) != taken.end()) continue;
      const std::string name = fmt::format("{}/{}", shown, label);
      const bool is_double = std::any_of(sensors_.begin(), sensors_.end(), [&](const Sensor& s) {
        return s.metric == kind.metric && s.name == name;
      });
      if (sensors_.size() >= kMostSensors) return;
      taken.push_back(sensor);
      sensors_.push_back({kind.metric, is_double ? name + " " + sensor : name,
                          fmt::format("{}/{}", folder, file), kind.scale,
                          kind.metric == &kTemperatureCelsius && IsProcessor(chip)});
    }
  }
}

}  // namespace

std::unique_ptr<Collector> NewHwmonCollector(const std::string& root) {
  return std::make_unique<HwmonCollector>(root);
}

}  // namespace sharewell::collect
