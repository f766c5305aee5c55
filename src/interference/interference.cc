#include "interference/interference.h"

#include <algorithm>

namespace sharewell::interference {

using core::GpuModelId;
using core::Ratio;

Ratio Interference::Speed(GpuModelId model, std::span<const Tenant> tenants, std::size_t i) const {
  if (tenants.size() <= 1) return 1;
  const Tenant& self = tenants[i];
  double slowdown = 0;
  std::optional<Ratio> measured;
  if (tenants.size() == 2) {
    measured = pairs_.Speed(model, self.workload, tenants[1 - i].workload);
  }
  if (measured) {
    slowdown = 1 / std::max(*measured, kSlowest);
  } else {
    double idle = 1;  // share of the SMs' time that no neighbour uses
    double dram = 0;
    for (std::size_t j = 0; j < tenants.size(); ++j) {
      if (j == i) continue;
      idle *= 1 - tenants[j].demand->sm;
      dram += tenants[j].demand->dram;
    }
    const double full = (1 - idle) * (1 - idle);
    slowdown = 1 + coefficients_.neighbour * static_cast<double>(tenants.size() - 1) +
               self.demand->busy * (coefficients_.sm * full * full + coefficients_.dram * dram);
  }
  slowdown = 1 + (slowdown - 1) * self.contention;
  return std::clamp(1 / slowdown, kSlowest, 1.0);
}

bool Interference::Measured(GpuModelId model, std::span<const Tenant> tenants) const {
  return tenants.size() == 2 &&
         pairs_.Speed(model, tenants[0].workload, tenants[1].workload).has_value();
}

bool Interference::Knows(GpuModelId model, std::span<const Tenant> tenants) const {
  return tenants.size() <= 1 || Measured(model, tenants) ||
         std::all_of(tenants.begin(), tenants.end(),
                     [](const Tenant& t) { return t.demand->known; });
}

bool Interference::Fits(GpuModelId model, std::span<const Tenant> tenants) const {
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    for (std::size_t j = i + 1; j < tenants.size(); ++j) {
      if (!pairs_.Fits(model, tenants[i].workload, tenants[j].workload)) return false;
    }
  }
  return true;
}

}  // namespace sharewell::interference
