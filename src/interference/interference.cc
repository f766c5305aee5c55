#include "interference/interference.h"

#include <algorithm>

namespace sharewell::interference {

using core::GpuModelId;
using core::Ratio;

Ratio Interference::Speed(GpuModelId model, std::span<const Resident> residents,
                          std::size_t i) const {
  if (residents.size() <= 1) return 1;
  const Resident& self = residents[i];
  double slowdown = 0;
  std::optional<Ratio> measured;
  if (residents.size() == 2) {
    measured = pairs_.Speed(model, self.workload, residents[1 - i].workload);
  }
  if (measured) {
    slowdown = 1 / std::max(*measured, kSlowest);
  } else {
    double idle = 1;  // share of the SMs' time that no neighbour uses
    double dram = 0;
    for (std::size_t j = 0; j < residents.size(); ++j) {
      if (j == i) continue;
      idle *= 1 - residents[j].demand->sm;
      dram += residents[j].demand->dram;
    }
    const double full = (1 - idle) * (1 - idle);
    slowdown = 1 + coefficients_.neighbour * static_cast<double>(residents.size() - 1) +
               self.demand->busy * (coefficients_.sm * full * full + coefficients_.dram * dram);
  }
  slowdown = 1 + (slowdown - 1) * self.contention;
  return std::clamp(1 / slowdown, kSlowest, 1.0);
}

bool Interference::Measured(GpuModelId model, std::span<const Resident> residents) const {
  return residents.size() == 2 &&
         pairs_.Speed(model, residents[0].workload, residents[1].workload).has_value();
}

bool Interference::Knows(GpuModelId model, std::span<const Resident> residents) const {
  return residents.size() <= 1 || Measured(model, residents) ||
         std::all_of(residents.begin(), residents.end(),
                     [](const Resident& t) { return t.demand->known; });
}

bool Interference::Fits(GpuModelId model, std::span<const Resident> residents) const {
  for (std::size_t i = 0; i < residents.size(); ++i) {
    for (std::size_t j = i + 1; j < residents.size(); ++j) {
      if (!pairs_.Fits(model, residents[i].workload, residents[j].workload)) return false;
    }
  }
  return true;
}

}  // namespace sharewell::interference
