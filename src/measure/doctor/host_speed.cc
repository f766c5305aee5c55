#include "measure/doctor/host_speed.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "json/value.h"
#include "json/writer.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/embedded.h"
#include "platform/files/short_folder.h"
#include "platform/files/text.h"
#include "platform/files/write_file.h"
#include "platform/process/child.h"
#include "platform/process/cpu_set.h"
#include "platform/process/python_script.h"
#include "stress/pressure.h"

namespace sharewell::measure {
namespace {

constexpr int kNice = 10;
constexpr const char* kFile = "/host-speed";
constexpr const char* kProbeFile = "/host-probe";
constexpr std::size_t kMostOfSpeed = 16 * 1024;
constexpr core::UnixMillis kMostOfProbe = 120'000;
constexpr double kSameHost = 1.3;
constexpr double kMostHostTime = 4;

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

// What was kept of this machine; absent where nothing was.
std::optional<json::Document> Kept(const std::string& path, const std::string& machine) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMostOfSpeed, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  auto parsed = json::Document::Parse(text);
  const json::Value root = json::RootOf(parsed);
  if (root["schema"].Number() != 1 || root["machine"].Text() != machine) return std::nullopt;
  return std::move(*parsed);
}

std::optional<double> Positive(json::Value from, const char* name) {
  const auto value = from[name].Number();
  return value && *value > 0 ? value : std::nullopt;
}

// `figures` writes them.
template <class F>
core::Result<void> Keep(const std::string& state, const char* name, const std::string& machine,
                        F&& figures) {
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(state, ignored);
  return platform::WriteFile(state + name,
                             json::Write(json::Style::kReport, [&](json::Writer& out) {
                               out.Object([&] {
                                 out.Field("schema", 1);
                                 out.Field("machine", machine);
                                 figures(out);
                               });
                             }));
}

// The figures of a probe by the names that host_probe.py prints them with.
constexpr std::pair<const char*, std::optional<double> HostProbe::*> kProbeFigures[] = {
    {"python_loops_per_s", &HostProbe::python_loops},
    {"launches_per_s", &HostProbe::launches},
    {"launch_waits_per_s", &HostProbe::launch_waits},
    {"pipe_trips_per_s", &HostProbe::pipe_trips},
    {"copy_bytes_per_s", &HostProbe::copied_bytes},
    {"loader_items_per_s", &HostProbe::loader_items}};

HostProbe ProbeFrom(json::Value from) {
  HostProbe probe;
  for (const auto& [name, member] : kProbeFigures) probe.*member = Positive(from, name);
  return probe;
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
  const auto parsed = Kept(state + kFile, machine);
  if (!parsed) return std::nullopt;
  const json::Value kept = parsed->root();
  const auto bandwidth = Positive(kept, "memory_bandwidth_bytes_per_second");
  if (!bandwidth) return std::nullopt;
  HostSpeed speed;
  speed.memory_bandwidth = core::BytesPerSecond(*bandwidth);
  if (const auto one = Positive(kept, "one_core_bytes_per_second")) {
    speed.one_core = core::BytesPerSecond(*one);
  }
  speed.spread = Positive(kept, "spread_ratio");
  speed.measured = static_cast<core::UnixMillis>(Positive(kept, "measured_ms").value_or(0));
  return speed;
}

core::Result<void> KeepHostSpeed(const std::string& state, const std::string& machine,
                                 const HostSpeed& speed) {
  return Keep(state, kFile, machine, [&](json::Writer& out) {
    out.Field("memory_bandwidth_bytes_per_second", speed.memory_bandwidth);
    if (speed.one_core) out.Field("one_core_bytes_per_second", *speed.one_core);
    if (speed.spread) out.Field("spread_ratio", *speed.spread);
    out.Field("measured_ms", speed.measured);
  });
}

std::string InWords(const HostSpeed& speed) {
  std::string text = "memory moves " + Rate(speed.memory_bandwidth);
  if (speed.one_core) text += ", " + Rate(*speed.one_core) + " by one core";
  const std::time_t at = speed.measured / 1000;
  text += fmt::format(" (measured {:%Y-%m-%d}", fmt::gmtime(at));
  if (speed.spread) text += fmt::format(", repeats within {:.0f} %", *speed.spread * 100);
  return text + ")";
}

core::Result<HostProbe> RunHostProbe() {
  const platform::ShortFolder folder;
  auto command = platform::PythonCommand(
      folder.path(),
      {{"host_probe.py", platform::EmbeddedHostProbe()}, {"feeds.py", platform::EmbeddedFeeds()}});
  RETURN_IF_ERROR(command);
  platform::ChildOptions options;
  options.command = *std::move(command);
  const std::string out = folder.path() + "/probe.json";
  options.out = {.to = platform::ChildOutput::To::kFile, .file = out, .seen = {}};
  options.err.to = platform::ChildOutput::To::kNull;
  auto child = platform::Child::Start(options);
  RETURN_IF_ERROR(child);
  platform::Child* const one = child->get();
  const core::UnixMillis begin = platform::UnixNow();
  while (!one->Ended() && platform::UnixNow() - begin < kMostOfProbe) {
    platform::WaitForChildren({&one, 1}, core::Seconds{1});
  }
  one->Stop(core::Seconds{1});
  std::ifstream file(out, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  // Its last object: what is imported may print before it.
  const std::string said = text.str();
  const std::size_t last = said.rfind('{');
  const auto parsed = json::Document::Parse(
      last == std::string::npos ? std::string_view() : std::string_view(said).substr(last));
  HostProbe probe = ProbeFrom(json::RootOf(parsed));
  if (!probe.python_loops) {
    return core::FailedError(
        "the host's speed could not be probed: Python ended without figures; `python3 -c 'import "
        "torch'` may say why");
  }
  probe.measured = platform::UnixNow();
  return probe;
}

std::optional<HostProbe> KeptHostProbe(const std::string& state, const std::string& machine) {
  const auto kept = Kept(state + kProbeFile, machine);
  if (!kept) return std::nullopt;
  HostProbe probe = ProbeFrom(kept->root());
  probe.measured = static_cast<core::UnixMillis>(Positive(kept->root(), "measured_ms").value_or(0));
  return probe;
}

core::Result<void> KeepHostProbe(const std::string& state, const std::string& machine,
                                 const HostProbe& probe) {
  return Keep(state, kProbeFile, machine, [&](json::Writer& out) {
    for (const auto& [name, member] : kProbeFigures) {
      if (probe.*member) out.Field(name, *(probe.*member));
    }
    out.Field("measured_ms", probe.measured);
  });
}

HostProbe ReferenceProbe() {
  return {.python_loops = 15'253'117,
          .launches = 108'887,
          .launch_waits = 55'293,
          .pipe_trips = 75'297,
          .copied_bytes = 12'110'575'341,
          .loader_items = 4'614,
          .measured = 0};
}

std::optional<double> HostTime(const HostProbe& probe) {
  if (!probe.launches) return std::nullopt;
  const HostProbe reference = ReferenceProbe();
  double sum = 0;
  int count = 0;
  for (const auto member :
       {&HostProbe::launches, &HostProbe::pipe_trips, &HostProbe::loader_items}) {
    if (!(probe.*member)) continue;
    sum += std::log(*(reference.*member) / *(probe.*member));
    ++count;
  }
  const double longer = sum / count;
  const double beyond = std::max(0.0, std::abs(longer) - std::log(kSameHost));
  return std::clamp(std::exp(std::copysign(beyond, longer)), 1 / kMostHostTime, kMostHostTime);
}

std::string InWords(const HostProbe& probe) {
  std::string text;
  const auto add = [&](const std::optional<double>& value, const char* what) {
    if (value) text += fmt::format("{}{:.0f} {}", text.empty() ? "" : ", ", *value, what);
  };
  add(probe.launches, "kernels launched");
  add(probe.loader_items, "images loaded");
  add(probe.pipe_trips, "processes woken");
  const std::time_t at = probe.measured / 1000;
  return text + fmt::format(" a second (measured {:%Y-%m-%d})", fmt::gmtime(at));
}

}  // namespace sharewell::measure
