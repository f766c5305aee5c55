#include "collect/environment.h"

#include <algorithm>
#include <map>
#include <optional>

#include "collect/host/files.h"
#include "collect/host/memory.h"
#include "collect/host/perf/perf_events.h"
#include "collect/host/scan.h"
#include "core/text/plain_text.h"
#include "platform/machine/cpu_topology.h"

namespace sharewell::collect {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr std::size_t kMostFactBytes = 200;

class FactList {
 public:
  void Add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    facts_.emplace_back(std::string(name), core::PlainText(value.substr(0, kMostFactBytes), " "));
  }
  Facts Take() { return std::move(facts_); }

 private:
  Facts facts_;
};

std::string OsName(std::string_view os_release) {
  Lines lines(os_release);
  for (std::string_view line; lines.Next(line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    line.remove_prefix(12);
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

// Firmware that was never filled in says such things.
bool IsFiller(std::string_view text) {
  for (const std::string_view filler :
       {"To Be Filled By O.E.M.", "Default string", "System Product Name", "Not Specified", "None",
        "Unknown"}) {
    if (text == filler) return true;
  }
  return text.empty();
}

std::string MachineName(HostFiles& files) {
  std::string name;
  for (const char* part : {"sys_vendor", "product_name"}) {
    const auto text = files.Line(std::string("/sys/class/dmi/id/") + part);
    if (text && !IsFiller(*text)) name += (name.empty() ? "" : " ") + *text;
  }
  if (name.empty()) name = files.Line("/proc/device-tree/model").value_or("");
  const auto board = files.Line("/sys/class/dmi/id/board_name");
  if (board && !IsFiller(*board) && !name.empty()) name += fmt::format(" (board {})", *board);
  return name;
}

std::string ArmCore(int part) {
  static const std::map<int, std::string> names = {{0xd0c, "Neoverse N1"}, {0xd40, "Neoverse V1"},
                                                   {0xd49, "Neoverse N2"}, {0xd4a, "Neoverse E1"},
                                                   {0xd4f, "Neoverse V2"}, {0xd84, "Neoverse V3"},
                                                   {0xd8e, "Neoverse N3"}};
  const auto it = names.find(part);
  return it == names.end() ? fmt::format("part {:#x}", part) : it->second;
}

void AddProcessor(HostFiles& files, FactList& facts) {
  const auto text = files.Read("/proc/cpuinfo");
  if (!text) return;
  const Processor processor = ParseProcessor(*text);
  std::string name = processor.name;
  if (name.empty() && processor.vendor == Processor::Vendor::kArm) {
    name = "ARM " + ArmCore(processor.model);
  }
  if (processor.is_virtual && !name.empty()) name += " (virtual machine)";
  facts.Add("cpu", name);
  // Counted in sysfs, which all architectures have: cpuinfo of ARM says neither.
  const platform::CpuCounts counts = platform::CountCpus(files.root());
  if (counts.threads == 0) return;
  facts.Add("sockets", std::to_string(counts.sockets));
  if (counts.cores > 0) facts.Add("cores", std::to_string(counts.cores));
  facts.Add("threads", std::to_string(counts.threads));
}

std::string Storage(HostFiles& files, const std::string& folder) {
  const auto text = files.Read("/proc/self/mountinfo");
  if (!text) return {};
  const MountedOn mount = FindMount(*text, folder);
  if (mount.type.empty()) return {};
  std::string said = mount.type;
  const std::string target = files.LinkTarget("/sys/dev/block/" + mount.device);
  if (target.empty()) {
    if (!mount.source.empty() && mount.source != "none") said += " on " + mount.source;
    return said;
  }
  // ".../block/nvme0n1/nvme0n1p2": the disk is the folder behind "block".
  const auto at = target.find("/block/");
  if (at == std::string::npos) return said;
  const std::string disk = target.substr(at + 7, target.find('/', at + 7) - at - 7);
  said += " on " + disk;
  const auto model = files.Line(fmt::format("/sys/block/{}/device/model", disk));
  const auto turning = files.Number(fmt::format("/sys/block/{}/queue/rotational", disk));
  std::string what = model.value_or("");
  // What a virtual machine says of its disks is not what they are.
  const bool known = turning && !disk.starts_with("vd") && !disk.starts_with("xvd");
  if (known) what += fmt::format("{}{}", what.empty() ? "" : ", ", *turning ? "hard disk" : "SSD");
  if (!what.empty()) said += fmt::format(" ({})", what);
  return said;
}

// The folder of our own control group: of v2, or of one hierarchy of v1. Empty: none.
std::string OwnCgroup(std::string_view text, std::string_view controller) {
  Lines lines(text);
  std::string unified;
  for (std::string_view line; lines.Next(line);) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view list = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (path.find("..") != std::string_view::npos) continue;
    if (list.empty()) unified = fmt::format("/sys/fs/cgroup{}", path);
    if (("," + std::string(list) + ",").find(fmt::format(",{},", controller)) !=
        std::string::npos) {
      return fmt::format("/sys/fs/cgroup/{}{}", list, path);
    }
  }
  return unified;
}

void AddLimits(HostFiles& files, FactList& facts) {
  const auto read = files.Read("/proc/self/cgroup");
  const std::string text(read.value_or(""));
  const std::string cpu = OwnCgroup(text, "cpu"), memory = OwnCgroup(text, "memory");
  std::optional<double> cores;
  if (const auto max = files.Line(cpu + "/cpu.max")) {
    std::string_view rest = *max;
    const auto quota = AsNumber(TakeWord(rest)), period = AsNumber(TakeWord(rest));
    if (quota && period && *period > 0) cores = *quota / *period;
  } else {
    const auto quota = files.Number(cpu + "/cpu.cfs_quota_us");
    const auto period = files.Number(cpu + "/cpu.cfs_period_us");
    if (quota && period && *period > 0) {
      cores = static_cast<double>(*quota) / static_cast<double>(*period);
    }
  }
  if (cores && *cores > 0) facts.Add("cpu limit", fmt::format("{:g} cores", *cores));
  if (const auto status = files.Read("/proc/self/status")) {
    Lines lines(*status);
    for (std::string_view line; lines.Next(line);) {
      if (const auto list = AfterKey(line, "Cpus_allowed_list")) facts.Add("allowed cpus", *list);
    }
  }
  auto bytes = files.Number(memory + "/memory.max");
  if (!bytes) bytes = files.Number(memory + "/memory.limit_in_bytes");
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;  // how v1 says it
  if (bytes && *bytes < kNoLimit) {
    facts.Add("memory limit", fmt::format("{:.1f} GiB", static_cast<double>(*bytes) / kGibibyte));
  }
}

std::string Container(HostFiles& files) {
  if (files.Exists("/.dockerenv")) return "docker";
  if (files.Exists("/run/.containerenv")) return "podman";
  if (files.Exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  return {};
}

}  // namespace

MountedOn FindMount(std::string_view mountinfo, std::string_view path) {
  MountedOn best;
  std::size_t longest = 0;
  Lines lines(mountinfo);
  for (std::string_view line; lines.Next(line);) {
    TakeWord(line);
    TakeWord(line);
    const std::string_view device = TakeWord(line);
    TakeWord(line);
    const std::string_view point = TakeWord(line);
    const auto dash = line.find(" - ");
    if (!point.starts_with('/') || dash == std::string_view::npos) continue;
    const bool holds =
        point == "/" || path == point ||
        (path.starts_with(point) && path.size() > point.size() && path[point.size()] == '/');
    if (!holds || point.size() < longest) continue;  // the later of two covers the earlier
    std::string_view rest = line.substr(dash + 3);
    longest = point.size();
    best.device = std::string(device);
    best.type = std::string(TakeWord(rest));
    best.source = std::string(TakeWord(rest));
  }
  // It becomes part of a path.
  if (best.device.find('/') != std::string::npos) best.device.clear();
  return best;
}

Facts MachineFacts(const std::string& root, const std::string& folder) {
  HostFiles files(root);
  FactList facts;
  facts.Add("node", files.Line("/proc/sys/kernel/hostname").value_or(""));
  if (const auto text = files.Read("/etc/os-release")) facts.Add("os", OsName(*text));
  facts.Add("kernel", files.Line("/proc/sys/kernel/osrelease").value_or(""));
  facts.Add("machine", MachineName(files));
  AddProcessor(files, facts);
  const std::size_t nodes = platform::NumaNodes(files.root()).size();
  if (nodes > 0) facts.Add("numa nodes", std::to_string(nodes));
  if (const auto text = files.Read("/proc/meminfo")) {
    ParseMeminfo(*text, [&](std::string_view key, double bytes) {
      if (key == "MemTotal") facts.Add("memory", fmt::format("{:.1f} GiB", bytes / kGibibyte));
    });
  }
  if (!folder.empty()) facts.Add("storage", Storage(files, folder));
  facts.Add("container", Container(files));
  AddLimits(files, facts);
  return facts.Take();
}

}  // namespace sharewell::collect
