#include "policy/nearest_gpus.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace sharewell::policy {
namespace {

int SumOfDistances(const core::GpuIslands& islands, int gpu, const std::vector<int>& to) {
  int sum = 0;
  for (const int other : to) sum += islands.Distance(gpu, other);
  return sum;
}

// From `seed` on always the one that is nearest to all that were gathered; of those the one that
// has others near it, which may be next.
std::vector<int> Gather(const core::GpuIslands& islands, const std::vector<int>& idle, int seed,
                        int count) {
  std::vector<int> gathered{seed};
  while (static_cast<int>(gathered.size()) < count) {
    std::optional<std::tuple<int, int, int>> best;
    for (const int gpu : idle) {
      if (std::find(gathered.begin(), gathered.end(), gpu) != gathered.end()) continue;
      const std::tuple one{SumOfDistances(islands, gpu, gathered),
                           SumOfDistances(islands, gpu, idle), gpu};
      if (!best || one < *best) best = one;
    }
    gathered.push_back(std::get<2>(*best));
  }
  return gathered;
}

// What the better set has less of: its spread, then what it breaks up.
using Cost = std::pair<int, int>;

Cost CostOf(const core::GpuIslands& islands, const std::vector<int>& gpus,
            const std::vector<int>& idle) {
  int spread = 0, to_all = 0;
  for (const int gpu : gpus) {
    spread += SumOfDistances(islands, gpu, gpus);
    to_all += SumOfDistances(islands, gpu, idle);
  }
  return {spread / 2, -to_all};  // the farther from all, the more the others stay together
}

// Exchanges one for another as long as that is better.
Cost Improve(const core::GpuIslands& islands, const std::vector<int>& idle,
             std::vector<int>& gpus) {
  Cost cost = CostOf(islands, gpus, idle);
  for (bool better = true; better;) {
    better = false;
    for (int& gpu : gpus) {
      for (const int other : idle) {
        if (std::find(gpus.begin(), gpus.end(), other) != gpus.end()) continue;
        const int before = std::exchange(gpu, other);
        const Cost now = CostOf(islands, gpus, idle);
        if (now < cost) {
          cost = now;
          better = true;
        } else {
          gpu = before;
        }
      }
    }
  }
  return cost;
}

}  // namespace

NearGpus NearestGpus(const core::GpuIslands& islands, const std::vector<int>& idle, int count) {
  std::optional<std::pair<Cost, std::vector<int>>> best;
  for (const int seed : idle) {
    std::vector<int> gpus = Gather(islands, idle, seed, count);
    const Cost cost = Improve(islands, idle, gpus);
    std::sort(gpus.begin(), gpus.end());
    std::pair one{cost, std::move(gpus)};
    if (!best || one < *best) best = std::move(one);
  }
  return {best->second, best->first.first};
}

}  // namespace sharewell::policy
