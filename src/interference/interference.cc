#include "interference/interference.h"

#include <algorithm>
#include <cmath>

namespace sharewell::interference {

using core::Demand;
using core::GpuModelId;
using core::Ratio;

namespace {

// How much longer a job's kernels take with that share of the SMs than with all: as if some of them
// were as wide as the GPU, and the rest fitted into the share.
double OwnStretch(const Demand& demand, Ratio sm_share, const Coefficients& c) {
  if (sm_share >= 1 || demand.sm <= 0) return 1;
  const double width = demand.sm < demand.busy ? demand.sm / demand.busy : 1;
  return 1 + c.narrow * width * width * (1 / std::max(sm_share, kSlowest) - 1);
}

// Seconds: of a job that keeps all SMs active, and the shortest that is assumed of anybody.
constexpr double kFullKernel = 300e-6;
constexpr double kShortKernel = 8e-6;

double Fourth(double x) { return (x * x) * (x * x); }

// How much longer a step takes when its parts on the host and on the GPU are stretched so.
double Overlapped(Ratio busy, double host, double gpu) {
  if (busy <= 0) return host;
  if (busy >= 1) return gpu;
  return std::sqrt(std::sqrt((1 - Fourth(busy)) * Fourth(host) + Fourth(busy * gpu)));
}

}  // namespace

Ratio SpeedAlone(const Demand& demand, Ratio sm_share, const Coefficients& coefficients) {
  if (sm_share >= 1) return 1;
  return std::max(1 / Overlapped(demand.busy, 1, OwnStretch(demand, sm_share, coefficients)),
                  kSlowest);
}

core::Seconds LikelyKernelTime(const Demand& demand) {
  if (demand.kernel_time && demand.kernel_time->value > 0) return *demand.kernel_time;
  return core::Seconds(std::max(kShortKernel, kFullKernel * demand.sm * demand.sm));
}

double Interference::Slowdown(std::span<const Resident> residents, std::size_t i) const {
  const Coefficients& c = coefficients_;
  const Demand& self = *residents[i].demand;
  const double neighbours = static_cast<double>(residents.size() - 1);
  const double host = 1 + c.host * neighbours;
  if (self.busy <= 0) return host;
  const double own = OwnStretch(self, residents[i].sm_share, c);
  const double per_kernel = c.length / (LikelyKernelTime(self).value * own);
  double dram = 0;
  double wait = 0;  // for the neighbours' kernels
  for (std::size_t j = 0; j < residents.size(); ++j) {
    if (j == i) continue;
    const Demand& other = *residents[j].demand;
    dram += other.dram;
    const Ratio share = residents[j].sm_share;
    const double sm = std::min(other.sm, share);
    if (sm <= 0) continue;
    // A kernel of the neighbour's, against one of this job's.
    const double longer = std::log(1 + LikelyKernelTime(other).value * per_kernel);
    const double blocked = sm * std::sqrt(sm) * longer;
    wait += share < 1 ? blocked / (1 + c.room * (1 - share)) : blocked;
  }
  const double gpu = own * (1 + c.neighbour * neighbours + c.dram * dram + c.wait * wait);
  return Overlapped(self.busy, host, gpu);
}

void Interference::Learn(GpuModelId model, core::WorkloadId a, core::WorkloadId b, Ratio speed_a,
                         Ratio speed_b, Ratio sm_share_a, Ratio sm_share_b) {
  const int of_a = SharePercent(sm_share_a), of_b = SharePercent(sm_share_b);
  learnt_.Learn({model, a, b, of_a, of_b}, std::clamp(speed_a, kSlowest, 1.0));
  learnt_.Learn({model, b, a, of_b, of_a}, std::clamp(speed_b, kSlowest, 1.0));
}

std::optional<Ratio> Interference::LearntSpeed(GpuModelId model,
                                               std::span<const Resident> residents,
                                               std::size_t i) const {
  if (learnt_.empty() || residents.size() != 2) return std::nullopt;
  const Resident &self = residents[i], &other = residents[1 - i];
  return learnt_.Speed({model, self.workload, other.workload, SharePercent(self.sm_share),
                        SharePercent(other.sm_share)});
}

Ratio Interference::Speed(GpuModelId model, std::span<const Resident> residents,
                          std::size_t i) const {
  const Resident& self = residents[i];
  const Ratio alone = SpeedAlone(*self.demand, self.sm_share, coefficients_);
  if (residents.size() <= 1) return alone;
  if (const auto learnt = LearntSpeed(model, residents, i)) return *learnt;
  std::optional<Ratio> measured;
  if (residents.size() == 2 && !pairs_.empty()) {
    const Resident& other = residents[1 - i];
    measured = pairs_.Speed(model, self.workload, other.workload, self.sm_share, other.sm_share);
  }
  const double slowdown = measured ? 1 / std::max(*measured, kSlowest) : Slowdown(residents, i);
  // What differs from usual is what the neighbours do, not what its own share costs it.
  const double own = alone < 1 ? 1 / alone : 1;
  return std::clamp(1 / (own + (slowdown - own) * self.contention), kSlowest, 1.0);
}

bool Interference::Measured(GpuModelId model, std::span<const Resident> residents) const {
  if (residents.size() != 2) return false;
  return LearntSpeed(model, residents, 0) ||
         pairs_.Speed(model, residents[0].workload, residents[1].workload, residents[0].sm_share,
                      residents[1].sm_share);
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
