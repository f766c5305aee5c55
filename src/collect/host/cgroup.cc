#include "collect/host/cgroup.h"

#include <algorithm>
#include <array>
#include <vector>

#include "collect/host/memory.h"
#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsContainerId(std::string_view text) { return text.size() == 64 && IsHex(text); }

std::string_view Between(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix)) {
    return {};
  }
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
}

// "pod0f2e..." of the cgroupfs driver, "kubepods-burstable-pod0f2e_....slice" of systemd's, which
// puts the names of the kubelet's --cgroup-root in front of it.
std::string PodUid(std::string_view part) {
  std::string_view uid = Between(part, "pod", "");
  const bool ours = part.starts_with("kubepods-") || part.find("-kubepods-") != part.npos;
  if (ours && part.ends_with(".slice")) {
    const auto at = part.rfind("-pod");
    if (at != std::string_view::npos) uid = Between(part.substr(at), "-pod", ".slice");
  }
  std::string clean(uid);
  std::replace(clean.begin(), clean.end(), '_', '-');  // systemd keeps '-' for itself
  const bool good = clean.size() >= 32 && clean.size() <= 36 &&
                    std::all_of(clean.begin(), clean.end(),
                                [](char c) { return c == '-' || IsHex(std::string_view(&c, 1)); });
  return good ? clean : std::string();
}

struct FoundJob {
  int rank = 0;  // the lower, the more it is meant
  std::string name;
  std::size_t end = 0;  // of its part in the path; 0: its folder is not ours to see
};

// What one part of a path says. `before`: the part above it.
std::optional<FoundJob> JobOfPart(std::string_view before, std::string_view part) {
  if (const auto own = Between(part, "sharewell-", ".scope"); !own.empty()) {
    return FoundJob{0, std::string(own), 0};
  }
  if (before == "sharewell" && !part.empty()) return FoundJob{0, std::string(part), 0};
  if (const auto id = Between(part, "job_", ""); IsDigits(id) && id.size() < 20) {
    return FoundJob{1, "slurm/" + std::string(id), 0};
  }
  if (const auto uid = PodUid(part); !uid.empty()) return FoundJob{2, "pod/" + uid, 0};
  if (const auto id = Between(part, "docker-", ".scope"); IsContainerId(id)) {
    return FoundJob{3, "docker/" + std::string(id.substr(0, 12)), 0};
  }
  if (before == "docker" && IsContainerId(part)) {
    return FoundJob{3, "docker/" + std::string(part.substr(0, 12)), 0};
  }
  if (const auto id = Between(part, "libpod-", ".scope"); IsContainerId(id)) {
    return FoundJob{3, "podman/" + std::string(id.substr(0, 12)), 0};
  }
  if (before == "libpod_parent" && IsContainerId(Between(part, "libpod-", ""))) {
    return FoundJob{3, "podman/" + std::string(part.substr(7, 12)), 0};
  }
  return std::nullopt;
}

std::optional<FoundJob> JobOfPath(std::string_view path) {
  std::optional<FoundJob> found;
  std::string_view before;
  bool in_slurm = false, outside = false;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto slash = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, slash - begin);
    // Outside of our name space of groups, as other pods are to an agent in a pod.
    outside = outside || part == "..";
    // Slurm's folders are below "slurm", "slurm_NODE" (v1) or "slurmstepd.scope" (v2).
    in_slurm = in_slurm || part.starts_with("slurm") || part.ends_with("slurmstepd.scope");
    auto job = JobOfPart(before, part);
    if (job && job->rank == 1 && !in_slurm) job.reset();
    if (job && (!found || job->rank < found->rank)) {
      found = std::move(job);
      found->end = outside ? 0 : slash;
    }
    before = part;
    begin = slash + 1;
  }
  return found;
}

std::optional<double> NumberIn(HostFiles& files, const std::string& path) {
  const auto value = files.Number(path);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

// The same group in another hierarchy of v1.
std::string Sibling(HostFiles& files, std::string_view below,
                    std::initializer_list<std::string_view> hierarchies) {
  for (const std::string_view hierarchy : hierarchies) {
    std::string folder = fmt::format("{}/{}{}", kCgroupRoot, hierarchy, below);
    if (files.Exists(folder)) return folder;
  }
  return {};
}

}  // namespace

std::optional<CgroupJob> JobOfCgroup(std::string_view text) {
  // v1 has a line for each hierarchy, in which not all jobs are: memory's is best, then cpuacct's.
  std::optional<FoundJob> best;
  std::string folder;
  int best_line = 0;
  bool best_v2 = false, has_v1 = false;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    has_v1 = has_v1 || (!v2 && !controllers.starts_with("name="));
    if (!path.starts_with('/') || controllers.find('/') != std::string_view::npos ||
        controllers == ".." || controllers.starts_with("name=")) {
      continue;
    }
    auto job = JobOfPath(path);
    if (!job) continue;
    int rank = 10 * job->rank + 3;
    if (controllers == "memory") rank -= 3;
    if (controllers.find("cpuacct") != std::string_view::npos) rank -= 2;
    if (v2) rank -= 1;
    if (best && rank >= best_line) continue;
    best_line = rank;
    best_v2 = v2;
    folder = std::string(path.substr(0, job->end));
    if (!v2 && !folder.empty()) folder.insert(0, fmt::format("{}/{}", kCgroupRoot, controllers));
    best = std::move(job);
  }
  if (!best) return std::nullopt;
  if (best_v2 && !folder.empty()) folder.insert(0, has_v1 ? "/sys/fs/cgroup/unified" : kCgroupRoot);
  return CgroupJob{CleanName(best->name), std::move(folder)};
}

CgroupFigures ReadCgroup(HostFiles& files, const std::string& folder) {
  CgroupFigures figures;
  const auto take_io = [&](const std::optional<CgroupIo>& io) {
    if (!io) return;
    figures.read_bytes = io->read;
    figures.written_bytes = io->written;
  };
  if (files.Exists(folder + "/cgroup.controllers")) {
    if (const auto text = files.Read(folder + "/cpu.stat")) {
      figures.cpu_seconds = ParseCpuStatSeconds(*text);
    }
    figures.memory_bytes = NumberIn(files, folder + "/memory.current");
    figures.memory_peak_bytes = NumberIn(files, folder + "/memory.peak");
    if (const auto text = files.Read(folder + "/io.stat")) take_io(ParseIoStat(*text));
    return figures;
  }
  if (!folder.starts_with(kCgroupRoot)) return figures;
  const std::string_view inside = std::string_view(folder).substr(kCgroupRoot.size());
  const auto slash = inside.find('/', 1);
  if (slash == std::string_view::npos) return figures;
  const std::string_view below = inside.substr(slash);
  const std::string cpu = Sibling(files, below, {"cpuacct", "cpu,cpuacct"});
  if (!cpu.empty()) {
    const auto nanoseconds = NumberIn(files, cpu + "/cpuacct.usage");
    if (nanoseconds) figures.cpu_seconds = *nanoseconds * 1e-9;
  }
  const std::string memory = Sibling(files, below, {"memory"});
  if (!memory.empty()) {
    figures.memory_bytes = NumberIn(files, memory + "/memory.usage_in_bytes");
    figures.memory_peak_bytes = NumberIn(files, memory + "/memory.max_usage_in_bytes");
  }
  const std::string blkio = Sibling(files, below, {"blkio"});
  if (!blkio.empty()) {
    auto text = files.Read(blkio + "/blkio.throttle.io_service_bytes_recursive");
    if (!text) text = files.Read(blkio + "/blkio.throttle.io_service_bytes");
    if (text) take_io(ParseBlkio(*text));
  }
  return figures;
}

std::optional<double> ParseCpuStatSeconds(std::string_view text) {
  std::optional<double> seconds;
  ParseKeyedCounts(text, [&](std::string_view key, std::uint64_t value) {
    if (key == "usage_usec") seconds = static_cast<double>(value) * 1e-6;
  });
  return seconds;
}

std::optional<CgroupIo> ParseIoStat(std::string_view text) {
  CgroupIo io;  // no line: nothing was read or written yet
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (TakeWord(line).find(':') == std::string_view::npos) return std::nullopt;
    for (auto word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      const bool read = word.starts_with("rbytes="), written = word.starts_with("wbytes=");
      if (!read && !written) continue;
      const auto bytes = AsUnsigned(word.substr(7));
      if (!bytes) return std::nullopt;
      (read ? io.read : io.written) += static_cast<double>(*bytes);
    }
  }
  return io;
}

std::optional<CgroupIo> ParseBlkio(std::string_view text) {
  CgroupIo io;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    const std::string_view device = TakeWord(line), what = TakeWord(line);
    if (device.find(':') == std::string_view::npos || (what != "Read" && what != "Write")) continue;
    const auto bytes = TakeUnsigned(line);
    if (!bytes) return std::nullopt;
    (what == "Read" ? io.read : io.written) += static_cast<double>(*bytes);
  }
  return io;
}

}  // namespace sharewell::collect
