#include "stress/cpu_caches.h"

#include <algorithm>
#include <map>

#include "platform/machine/cpu_topology.h"
#include "platform/process/cpu_set.h"

namespace sharewell::stress {

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
    const platform::CpuCache last = platform::LastLevelCache(cpu, root);
    const auto [it, fresh] = by_shared.try_emplace(last.shared, domains.size());
    if (fresh) domains.push_back({{}, last.bytes});
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
