#include "stress/cpu_caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

#include "platform/process/cpu_set.h"

namespace sharewell::stress {
namespace {

constexpr int kMostCaches = 16;  // index0 .. of one CPU; four are usual

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
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

struct TopCache {
  long level = 0;
  std::string shared;  // "0-1": CPUs with the same text share it
  std::optional<double> bytes = std::nullopt;
};

TopCache TopCacheOf(int cpu, const std::string& root) {
  TopCache top;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string folder =
        fmt::format("{}/sys/devices/system/cpu/cpu{}/cache/index{}/", root, cpu, index);
    const std::string level_text = FirstLine(folder + "level");
    if (level_text.empty()) break;
    std::string_view rest;
    const auto level = WholeAt(level_text, rest);
    if (!level || *level <= top.level || FirstLine(folder + "type") == "Instruction") continue;
    const auto bytes = CacheBytes(FirstLine(folder + "size"));
    if (bytes) top = {*level, FirstLine(folder + "shared_cpu_list"), bytes};
  }
  return top;
}

}  // namespace

core::Result<std::vector<int>> ChooseCpus(const std::vector<int>& wanted) {
  const std::vector<int> allowed = platform::AllowedCpus();
  if (wanted.empty()) return allowed;
  for (const int cpu : wanted) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      return core::UsageError("CPU {} is not among those that this process may use: {}", cpu,
                              platform::FormatCpus(allowed));
    }
  }
  return wanted;
}

std::vector<CacheDomain> CacheDomains(const std::vector<int>& cpus, const std::string& root) {
  std::vector<CacheDomain> domains;
  std::map<std::string, std::size_t> by_shared;
  for (const int cpu : cpus) {
    const TopCache top = TopCacheOf(cpu, root);
    const auto [it, fresh] = by_shared.try_emplace(top.shared, domains.size());
    if (fresh) domains.push_back({{}, top.bytes});
    domains[it->second].cpus.push_back(cpu);
  }
  return domains;
}

std::optional<double> TotalCache(const std::vector<CacheDomain>& domains) {
  double total = 0;
  for (const CacheDomain& domain : domains) {
    if (!domain.bytes) return std::nullopt;
    total += *domain.bytes;
  }
  return total;
}

}  // namespace sharewell::stress
