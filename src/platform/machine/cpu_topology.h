// What Linux tells below ROOT/sys of CPUs, their caches and NUMA nodes. ROOT is "/" or a captured
// tree. This is the one reader of it (docs/decisions/010-cpu-topology.md).
//
// Virtual machines and containers hide parts of it: what is not told is left out, and is no error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::platform {

// Where a CPU sits; CPUs of one core share it (hyper-threads).
struct CpuPlace {
  int cpu = 0;
  int node = 0, package = 0, core = 0;
};
// What is not told is 0 (of core: the CPU's own number).
std::vector<CpuPlace> CpuPlaces(const std::vector<int>& cpus, const std::string& root = "/");

// `count` of `places`: one thread of each core before a second one, and one NUMA node before the
// next (the node with most cores first). All of them when there are fewer.
std::vector<int> PickCpus(std::vector<CpuPlace> places, int count);

// Of the machine's CPUs that are online, whether or not this process may use them. 0: not told.
struct CpuCounts {
  int sockets = 0, cores = 0, threads = 0;
};
CpuCounts CountCpus(const std::string& root = "/");

struct CpuCache {
  int level = 0;       // 0: not told
  std::string shared;  // "0-1": CPUs with the same text share it
  std::optional<double> bytes = std::nullopt;
};
// The data cache of the highest level whose size is told.
CpuCache LastLevelCache(int cpu, const std::string& root = "/");

std::vector<int> NumaNodes(const std::string& root = "/");  // rising; empty: not told
// From node to node, as the firmware tells it: 10 is a node's own memory.
std::map<int, std::map<int, int>> NumaDistances(const std::string& root = "/");
// The node of a PCI device ("00000000:1B:00.0", as NVML writes it, or "0000:1b:00.0").
std::optional<int> PciNumaNode(std::string_view bus, const std::string& root = "/");

}  // namespace sharewell::platform
