// Sets of CPUs: as text ("0-3,8"), what this process may use, and which to take first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::platform {

// Rising, each once. A usage error says what is wrong with the text: "3-1", "0,,2", "x", 1e9.
core::Result<std::vector<int>> ParseCpus(std::string_view text);
std::string FormatCpus(const std::vector<int>& cpus);  // "0-3,8"

// Those that this process may run on (its affinity, which its cpuset bounds), rising.
std::vector<int> AllowedCpus();

// Where a CPU sits; CPUs of one core share it (hyper-threads).
struct CpuPlace {
  int cpu = 0;
  int node = 0, package = 0, core = 0;
};
// By /sys below `root`; what it does not say is 0 (of core: the CPU's own number).
std::vector<CpuPlace> CpuPlaces(const std::vector<int>& cpus, const std::string& root = "/");

// `count` of `places`: one thread of each core before a second one, and one NUMA node before the
// next (the node with most cores first). All of them when there are fewer.
std::vector<int> PickCpus(std::vector<CpuPlace> places, int count);

}  // namespace sharewell::platform
