#include "interference/interference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

Contender Interference::Prepare(const Resident& resident) const {
  const Coefficients& c = coefficients_;
  const Demand& demand = *resident.demand;
  const Ratio share = resident.sm_share;
  const double sm = std::min(demand.sm, share);
  Contender out{};
  out.workload = resident.workload;
  out.contention = resident.contention;
  out.percent = SharePercent(share);
  out.known = demand.known;
  out.busy = demand.busy;
  out.host_part = 1 - Fourth(demand.busy);
  out.dram = demand.dram;
  out.own = OwnStretch(demand, share, c);
  out.alone = SpeedAlone(demand, share, c);
  out.kernel = LikelyKernelTime(demand).value;
  out.per_kernel = c.length / (out.kernel * out.own);
  out.blocks = sm <= 0 ? 0 : sm * std::sqrt(sm);
  out.room = share < 1 ? 1 + c.room * (1 - share) : 1;
  return out;
}

double Interference::Slowdown(std::span<const Contender> residents, std::size_t i) const {
  const Coefficients& c = coefficients_;
  const Contender& self = residents[i];
  const double neighbours = static_cast<double>(residents.size() - 1);
  const double host = 1 + c.host * neighbours;
  if (self.busy <= 0) return host;
  double dram = 0;
  double wait = 0;  // for the neighbours' kernels
  for (std::size_t j = 0; j < residents.size(); ++j) {
    if (j == i) continue;
    const Contender& other = residents[j];
    dram += other.dram;
    if (other.blocks <= 0) continue;
    // A kernel of the neighbour's, against one of this job's.
    const double longer = std::log(1 + other.kernel * self.per_kernel);
    wait += other.blocks * longer / other.room;
  }
  const double gpu = self.own * (1 + c.neighbour * neighbours + c.dram * dram + c.wait * wait);
  if (self.busy >= 1) return gpu;
  return std::sqrt(std::sqrt(self.host_part * Fourth(host) + Fourth(self.busy * gpu)));
}

void Interference::Learn(GpuModelId model, core::WorkloadId a, core::WorkloadId b, Ratio speed_a,
                         Ratio speed_b, Ratio sm_share_a, Ratio sm_share_b) {
  const int of_a = SharePercent(sm_share_a), of_b = SharePercent(sm_share_b);
  learnt_.Learn({model, a, b, of_a, of_b}, std::clamp(speed_a, kSlowest, 1.0));
  learnt_.Learn({model, b, a, of_b, of_a}, std::clamp(speed_b, kSlowest, 1.0));
}

Ratio Interference::Speed(GpuModelId model, std::span<const Resident> residents,
                          std::size_t i) const {
  if (residents.size() <= 1) {
    return SpeedAlone(*residents[i].demand, residents[i].sm_share, coefficients_);
  }
  std::array<Contender, 4> few;
  std::vector<Contender> many(residents.size() > few.size() ? residents.size() : 0);
  const std::span<Contender> prepared =
      many.empty() ? std::span(few).first(residents.size()) : std::span(many);
  for (std::size_t j = 0; j < residents.size(); ++j) prepared[j] = Prepare(residents[j]);
  return Speed(model, std::span<const Contender>(prepared), i);
}

Ratio Interference::Speed(GpuModelId model, std::span<const Contender> residents,
                          std::size_t i) const {
  const Contender& self = residents[i];
  if (residents.size() <= 1) return self.alone;
  std::optional<Ratio> measured;
  if (residents.size() == 2) {
    const Contender& other = residents[1 - i];
    const auto learnt =
        learnt_.Speed({model, self.workload, other.workload, self.percent, other.percent});
    if (learnt) return *learnt;
    measured = pairs_.SpeedAt(model, self.workload, other.workload, self.percent, other.percent);
  }
  const double slowdown = measured ? 1 / std::max(*measured, kSlowest) : Slowdown(residents, i);
  // What differs from usual is what the neighbours do, not what its own share costs it.
  const double own = self.alone < 1 ? 1 / self.alone : 1;
  return std::clamp(1 / (own + (slowdown - own) * self.contention), kSlowest, 1.0);
}

bool Interference::Measured(GpuModelId model, std::span<const Resident> residents) const {
  if (residents.size() != 2) return false;
  const Resident &a = residents[0], &b = residents[1];
  const int of_a = SharePercent(a.sm_share), of_b = SharePercent(b.sm_share);
  return learnt_.Speed({model, a.workload, b.workload, of_a, of_b}) ||
         pairs_.SpeedAt(model, a.workload, b.workload, of_a, of_b);
}

bool Interference::Knows(GpuModelId model, std::span<const Resident> residents) const {
  return residents.size() <= 1 ||
         std::all_of(residents.begin(), residents.end(),
                     [](const Resident& t) { return t.demand->known; }) ||
         Measured(model, residents);
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
