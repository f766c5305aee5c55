#include "study/measure/doctor/host_speed.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platform/clock/wall_clock.h"
#include "platform/files/text.h"
#include "platform/files/write_file.h"
#include "platform/process/cpu_set.h"
#include "stress/pressure.h"

namespace sharewell::study {
namespace {

constexpr int kNice = 10;
constexpr const char* kFile = "/host-speed";
constexpr std::size_t kMostOfSpeed = 16 * 1024;

// x86 has "model name", Arm an implementer and a part for each CPU.
std::string ProcessorOf(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string arm;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = platform::Trimmed(std::string_view(line).substr(0, colon));
    const std::string value(platform::Trimmed(std::string_view(line).substr(colon + 1)));
    if (key == "model name") return value;
    if (key == "CPU implementer" && arm.empty()) arm = "arm " + value;
    if (key == "CPU part") return arm + " " + value;
  }
  return arm.empty() ? "unknown processor" : arm;
}

std::string Rate(core::BytesPerSecond rate) {
  return stress::ShowLevel(stress::PressureKind::kMemoryBandwidth, rate.value);
}

}  // namespace

std::string MachineKey(const std::string& root) {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0) name[0] = '\0';
  return fmt::format("{}, {}, {} CPUs", name, ProcessorOf(root), platform::AllowedCpus().size());
}

core::Result<HostSpeed> MeasureHostSpeed() {
  // Of this thread; those it starts take it over. On a machine that is idle it changes nothing.
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  const auto capacity = stress::Calibrate({.kind = stress::PressureKind::kMemoryBandwidth});
  RETURN_IF_ERROR(capacity);
  HostSpeed speed;
  speed.memory_bandwidth = core::BytesPerSecond(capacity->value);
  if (capacity->one_thread) speed.one_core = core::BytesPerSecond(*capacity->one_thread);
  speed.spread = capacity->spread;
  speed.measured = platform::UnixNow();
  return speed;
}

std::optional<HostSpeed> KeptHostSpeed(const std::string& state, const std::string& machine) {
  std::ifstream file(state + kFile, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMostOfSpeed, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", nlohmann::json()) != 1 ||
      json.value("machine", nlohmann::json()) != machine) {
    return std::nullopt;
  }
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return std::nullopt;
    const double value = found->get<double>();
    return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
  };
  const auto bandwidth = number("memory_bandwidth_bytes_per_second");
  if (!bandwidth) return std::nullopt;
  HostSpeed speed;
  speed.memory_bandwidth = core::BytesPerSecond(*bandwidth);
  if (const auto one = number("one_core_bytes_per_second")) {
    speed.one_core = core::BytesPerSecond(*one);
  }
  speed.spread = number("spread_ratio");
  speed.measured = static_cast<core::UnixMillis>(number("measured_ms").value_or(0));
  return speed;
}

core::Result<void> KeepHostSpeed(const std::string& state, const std::string& machine,
                                 const HostSpeed& speed) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["machine"] = machine;
  json["memory_bandwidth_bytes_per_second"] = speed.memory_bandwidth.value;
  if (speed.one_core) json["one_core_bytes_per_second"] = speed.one_core->value;
  if (speed.spread) json["spread_ratio"] = *speed.spread;
  json["measured_ms"] = speed.measured;
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(state, ignored);
  const std::string text =
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return platform::WriteFile(state + kFile, text + "\n");
}

std::string InWords(const HostSpeed& speed) {
  std::string text = "memory moves " + Rate(speed.memory_bandwidth);
  if (speed.one_core) text += ", " + Rate(*speed.one_core) + " by one core";
  const std::time_t at = speed.measured / 1000;
  text += fmt::format(" (measured {:%Y-%m-%d}", fmt::gmtime(at));
  if (speed.spread) text += fmt::format(", repeats within {:.0f} %", *speed.spread * 100);
  return text + ")";
}

}  // namespace sharewell::study
