// Which CPUs share a last-level cache, and how large it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::stress {

// `wanted`, or all that this process may use when it is empty; kUsage when it may not use one.
core::Result<std::vector<int>> ChooseCpus(const std::vector<int>& wanted);

// CPUs behind one last-level cache; no size: the machine does not say.
struct CacheDomain {
  std::vector<int> cpus;
  std::optional<double> bytes = std::nullopt;

  friend bool operator==(const CacheDomain&, const CacheDomain&) = default;
};

// The CPUs grouped by the cache of the highest level that serves each, by
// ROOT/sys/devices/system/cpu; those of which nothing is said come together, without a size.
std::vector<CacheDomain> CacheDomains(const std::vector<int>& cpus, const std::string& root = "/");

// The sum over the domains; absent when the size of one is.
std::optional<double> TotalCache(const std::vector<CacheDomain>& domains);

}  // namespace sharewell::stress
