#include "platform/process/cpu_set.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "core/text/quoted.h"
#include "platform/files/text.h"

namespace sharewell::platform {
namespace {

constexpr int kMostCpu = 65535;

std::optional<int> CpuNumber(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > kMostCpu || text.front() == '-') return std::nullopt;
  return number;
}

int NumberIn(const std::string& file, int otherwise) {
  std::ifstream in(file);
  int number = 0;
  return in >> number ? number : otherwise;
}

}  // namespace

core::Result<std::vector<int>> ParseCpus(std::string_view text) {
  std::set<int> cpus;
  const auto wrong = [&](std::string_view part) {
    return core::UsageError(
        "{} is no set of CPUs: {} is neither a number up to {} nor a range; "
        "write 0-3,8",
        core::Quoted(text), core::Quoted(part), kMostCpu);
  };
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = Trimmed(text.substr(begin, end - begin));
    const std::size_t dash = part.find('-');
    const auto first = CpuNumber(Trimmed(part.substr(0, dash)));
    const auto last = dash == part.npos ? first : CpuNumber(Trimmed(part.substr(dash + 1)));
    if (!first || !last || *last < *first) return wrong(part);
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
    begin = end + 1;
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

std::string FormatCpus(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (j > i) text += '-' + std::to_string(cpus[j]);
    i = j + 1;
  }
  return text;
}

std::vector<int> AllowedCpus() {
  // The kernel wants room for as many CPUs as it could ever have.
  for (int count = 1024; count <= kMostCpu + 1; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    CPU_ZERO_S(size, set);
    std::vector<int> cpus;
    const bool read = ::sched_getaffinity(0, size, set) == 0;
    const bool too_small = !read && errno == EINVAL;
    for (int cpu = 0; read && cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!too_small) return cpus;
  }
  return {};
}

std::vector<CpuPlace> CpuPlaces(const std::vector<int>& cpus, const std::string& root) {
  const std::string base = root + "/sys/devices/system/";
  std::map<int, int> node_of;
  if (std::ifstream online(base + "node/online"); online) {
    std::string text;
    std::getline(online, text);
    const auto nodes = ParseCpus(text);
    for (const int node : nodes ? *nodes : std::vector<int>()) {
      std::ifstream list(base + "node/node" + std::to_string(node) + "/cpulist");
      std::getline(list, text);
      const auto members = list ? ParseCpus(text) : core::Result<std::vector<int>>();
      for (const int cpu : members ? *members : std::vector<int>()) node_of[cpu] = node;
    }
  }
  std::vector<CpuPlace> places;
  for (const int cpu : cpus) {
    const std::string topology = base + "cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto node = node_of.find(cpu);
    places.push_back({.cpu = cpu,
                      .node = node == node_of.end() ? 0 : node->second,
                      .package = std::max(0, NumberIn(topology + "physical_package_id", 0)),
                      .core = NumberIn(topology + "core_id", cpu)});
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

}  // namespace sharewell::platform
