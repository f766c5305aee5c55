// The texts about one process: /proc/PID/stat, io and smaps_rollup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/host/files.h"

namespace sharewell::collect {

struct ProcessStat {
  int pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';
  std::uint64_t major_faults = 0, children_major_faults = 0;
  std::uint64_t user = 0, system = 0;  // ticks of 1/100 s
  std::uint64_t children_user = 0, children_system = 0;
  std::uint64_t threads = 0;
  std::uint64_t start = 0;  // ticks since boot: tells a number used again from the one before
  std::uint64_t resident_pages = 0;
};
// None: it is not such a line. The name in it may be anything, brackets included.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
// The name in it: what the process calls itself; empty when it is not such a line.
std::string_view ProcessName(std::string_view stat_text);

struct ProcessIo {
  std::uint64_t read_bytes = 0, written_bytes = 0;  // from and to disks; what its children that
                                                    // were waited for did is part of it
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

// "Pss" of /proc/PID/smaps_rollup.
std::optional<double> ParsePssBytes(std::string_view text);

// Numbers of all processes, rising; and /proc/PID/stat of one.
std::vector<int> AllPids(HostFiles& files);
std::optional<ProcessStat> ReadProcessStat(HostFiles& files, int pid);
// Who runs it: its real user id.
std::optional<std::uint32_t> ReadProcessOwner(HostFiles& files, int pid);

}  // namespace sharewell::collect
