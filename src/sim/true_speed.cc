#include "sim/true_speed.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/numbers/random.h"
#include "core/snapshot.h"

namespace sharewell::sim {

core::Ratio TrueSpeed(const interference::Interference& interference, std::uint64_t seed,
                      core::GpuModelId model, std::span<const interference::Resident> residents,
                      std::size_t i) {
  const core::Ratio speed = interference.Speed(model, residents, i);
  if (residents.size() <= 1 || interference.Measured(model, residents)) return speed;
  std::array<std::uint32_t, core::kMaxJobsOnGpu> group{};
  for (std::size_t k = 0; k < residents.size(); ++k) group[k] = residents[k].workload.value;
  std::sort(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(residents.size()));
  std::uint64_t hash = core::HashOf({seed, model.value, residents[i].workload.value});
  for (std::size_t k = 0; k < residents.size(); ++k) hash = core::HashOf({hash, group[k]});
  const auto& errs = interference.coefficients();
  const double sigma = residents.size() == 2 ? errs.residual : errs.residual_of_three;
  const double residual = std::exp(sigma * core::Normal(hash));
  const core::Ratio alone =
      interference::SpeedAlone(*residents[i].demand, residents[i].sm_share, errs);
  return std::clamp(speed * residual, interference::kSlowest, alone);
}

}  // namespace sharewell::sim
