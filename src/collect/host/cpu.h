// The texts about processors: /proc/stat, /proc/loadavg, /proc/cpuinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::collect {

// In ticks of 1/100 s, since boot. Guest time is part of user and nice, as the kernel has it.
struct CpuTicks {
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0;
  std::uint64_t iowait = 0, irq = 0, softirq = 0, steal = 0;

  friend bool operator==(const CpuTicks&, const CpuTicks&) = default;
};

struct CpuStat {
  std::optional<CpuTicks> all;
  std::vector<std::pair<int, CpuTicks>> cpus;  // those online, by number
  std::optional<std::uint64_t> context_switches, running, blocked;
};

// Lines that it cannot read, and columns and lines of newer kernels, are left out. `stat`'s memory
// is used again.
void ParseStat(std::string_view text, CpuStat& stat);

struct LoadAverage {
  double one = 0, five = 0, fifteen = 0;
};
std::optional<LoadAverage> ParseLoadAverage(std::string_view text);

// "cpu MHz" of each processor of /proc/cpuinfo that has one, in hertz.
std::vector<std::pair<int, double>> ParseCpuinfoHertz(std::string_view text);

}  // namespace sharewell::collect
