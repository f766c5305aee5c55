#include "platform/machine/cpu_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "platform/process/cpu_set.h"

namespace sharewell::platform {
namespace {

constexpr int kMostCaches = 16;  // index0 .. of one CPU; four are usual

std::string System(const std::string& root) { return root + "/sys/devices/system/"; }

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The N of the entries "cpuN" of a folder, rising.
std::vector<int> NumberedEntries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const char* const begin = name.data() + prefix.size();
    const char* const stop = name.data() + name.size();
    int number = 0;
    const auto [at, error] = std::from_chars(begin, stop, number);
    if (error == std::errc() && at == stop && *begin != '-') numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<long> WholeAt(std::string_view text, std::string_view& rest) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

// "107520K", as the kernel writes it; M and G in case it changes its mind.
std::optional<double> CacheBytes(std::string_view text) {
  std::string_view unit;
  const auto number = WholeAt(text, unit);
  if (!number) return std::nullopt;
  const auto value = static_cast<double>(*number);
  if (unit.empty()) return value;
  if (unit == "K") return value * 1024;
  if (unit == "M") return value * 1024 * 1024;
  return unit == "G" ? std::optional(value * 1024 * 1024 * 1024) : std::nullopt;
}

}  // namespace

std::vector<CpuPlace> CpuPlaces(const std::vector<int>& cpus, const std::string& root) {
  std::map<int, int> node_of;
  for (const int node : NumaNodes(root)) {
    const auto members =
        ParseCpus(FirstLine(fmt::format("{}node/node{}/cpulist", System(root), node)));
    for (const int cpu : members ? *members : std::vector<int>()) node_of[cpu] = node;
  }
  std::vector<CpuPlace> places;
  for (const int cpu : cpus) {
    const std::string topology = fmt::format("{}cpu/cpu{}/topology/", System(root), cpu);
    const auto node = node_of.find(cpu);
    places.push_back(
        {.cpu = cpu,
         .node = node == node_of.end() ? 0 : node->second,
         .package = std::max(0, NumberIn(topology + "physical_package_id").value_or(0)),
         .core = NumberIn(topology + "core_id").value_or(cpu)});
  }
  return places;
}

std::vector<int> PickCpus(std::vector<CpuPlace> places, int count) {
  std::sort(places.begin(), places.end(),
            [](const CpuPlace& a, const CpuPlace& b) { return a.cpu < b.cpu; });
  std::map<std::tuple<int, int, int>, int> seen;  // threads of a core so far
  std::map<int, int> cores_of;                    // of a node
  struct Ranked {
    int thread, fewer_cores, node, cpu;
    auto Key() const { return std::tuple(thread, fewer_cores, node, cpu); }
  };
  std::vector<Ranked> ranked;
  for (const CpuPlace& place : places) {
    const int thread = seen[{place.node, place.package, place.core}]++;
    if (thread == 0) ++cores_of[place.node];
    ranked.push_back({thread, 0, place.node, place.cpu});
  }
  for (Ranked& rank : ranked) rank.fewer_cores = -cores_of[rank.node];
  std::sort(ranked.begin(), ranked.end(),
            [](const Ranked& a, const Ranked& b) { return a.Key() < b.Key(); });
  std::vector<int> picked;
  for (const Ranked& rank : ranked) {
    if (static_cast<int>(picked.size()) >= count) break;
    picked.push_back(rank.cpu);
  }
  std::sort(picked.begin(), picked.end());
  return picked;
}

CpuCounts CountCpus(const std::string& root) {
  CpuCounts counts;
  std::set<int> sockets;
  std::set<std::tuple<int, int, int>> cores;
  for (const int cpu : NumberedEntries(System(root) + "cpu", "cpu")) {
    const std::string topology = fmt::format("{}cpu/cpu{}/topology/", System(root), cpu);
    const auto socket = NumberIn(topology + "physical_package_id");
    if (!socket) continue;  // offline
    ++counts.threads;
    sockets.insert(*socket);
    const auto core = NumberIn(topology + "core_id");
    if (core) cores.emplace(*socket, NumberIn(topology + "die_id").value_or(0), *core);
  }
  counts.sockets = static_cast<int>(sockets.size());
  counts.cores = static_cast<int>(cores.size());
  return counts;
}

CpuCache LastLevelCache(int cpu, const std::string& root) {
  CpuCache last;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string folder = fmt::format("{}cpu/cpu{}/cache/index{}/", System(root), cpu, index);
    const std::string level_text = FirstLine(folder + "level");
    if (level_text.empty()) break;
    std::string_view rest;
    const auto level = WholeAt(level_text, rest);
    if (!level || *level <= last.level || FirstLine(folder + "type") == "Instruction") continue;
    const auto bytes = CacheBytes(FirstLine(folder + "size"));
    if (bytes) last = {static_cast<int>(*level), FirstLine(folder + "shared_cpu_list"), bytes};
  }
  return last;
}

std::vector<int> NumaNodes(const std::string& root) {
  return NumberedEntries(System(root) + "node", "node");
}

std::map<int, std::map<int, int>> NumaDistances(const std::string& root) {
  std::map<int, std::map<int, int>> distances;
  const std::vector<int> nodes = NumaNodes(root);
  for (const int from : nodes) {
    std::ifstream row(fmt::format("{}node/node{}/distance", System(root), from));
    int distance = 0;
    for (const int to : nodes) {
      if (row >> distance) distances[from][to] = distance;
    }
  }
  return distances;
}

std::optional<int> PciNumaNode(std::string_view bus, const std::string& root) {
  // NVML writes the domain in eight digits, the kernel in four.
  std::string name;
  for (const char c : bus) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isxdigit(byte) == 0 && c != ':' && c != '.') return std::nullopt;
    name += static_cast<char>(std::tolower(byte));
  }
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return std::nullopt;
  if (colon > 4 && name.compare(0, colon - 4, std::string(colon - 4, '0')) == 0) {
    name.erase(0, colon - 4);
  }
  const auto node = NumberIn(root + "/sys/bus/pci/devices/" + name + "/numa_node");
  return node && *node >= 0 ? node : std::nullopt;
}

}  // namespace sharewell::platform
