// Control groups, v2 and v1: which job a process belongs to by its group, and the figures of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collect/host/files.h"

namespace sharewell::collect {

struct CgroupJob {
  std::string name;  // "slurm/123", "pod/UID", "docker/0123456789ab", "podman/...", or a name
  // The job's group: "/sys/fs/cgroup/system.slice/..."; empty: it cannot be seen from here.
  std::string folder;

  friend bool operator==(const CgroupJob&, const CgroupJob&) = default;
};

// The job that a process with this /proc/PID/cgroup belongs to: one of sharewell's own
// (".../sharewell/NAME" or "sharewell-NAME.scope"), else of Slurm, else a Kubernetes pod, else a
// container of Docker or Podman. None: it belongs to none.
std::optional<CgroupJob> JobOfCgroup(std::string_view text);

// What a group's files say; what they do not is none.
struct CgroupFigures {
  std::optional<double> cpu_seconds, memory_bytes, memory_peak_bytes, read_bytes, written_bytes;
};
// `folder`: in v2 the group's, in v1 that in one of the hierarchies; the others are found from it.
CgroupFigures ReadCgroup(HostFiles& files, const std::string& folder);

// The pieces: "usage_usec" of cpu.stat in seconds; sums over devices of io.stat (v2) and of
// blkio.throttle.io_service_bytes (v1).
std::optional<double> ParseCpuStatSeconds(std::string_view text);
struct CgroupIo {
  double read = 0, written = 0;
};
std::optional<CgroupIo> ParseIoStat(std::string_view text);
std::optional<CgroupIo> ParseBlkio(std::string_view text);

}  // namespace sharewell::collect
