#include "sim/belief.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace sharewell::sim {
namespace {

// Which figure a draw is for. The numbers are part of "same seed, same bytes": append only.
enum Figure : std::uint64_t {
  kBusy = 1,
  kSm,
  kDram,
  kGpuMemory,
  kPcie,
  kCores,
  kHostMemory,
  kHostBandwidth,
  kPower,
  kContention,
  kDuration,
  kRate = 100  // + the GPU model's number
};

class Draws {
 public:
  Draws(std::uint64_t seed, core::JobId job) : seed_(seed), job_(job) {}
  double operator()(std::uint64_t figure, double sigma) const {
    if (sigma == 0) return 1;
    return std::exp(sigma * core::Normal(core::HashOf({seed_, job_.value, figure})));
  }

 private:
  std::uint64_t seed_;
  core::JobId job_;
};

core::Estimate Draw(const core::Job& job, const TrueJob& truth, const BeliefOptions& options,
                    double s) {
  const Draws draw(options.seed, job.id);
  core::Estimate e;
  e.source = s == 0 ? core::Source::kMeasured : core::Source::kPredicted;
  e.on = truth.on;
  const double busy = draw(kBusy, s), sm = draw(kSm, s), dram = draw(kDram, s);
  const double memory = draw(kGpuMemory, s), pcie = draw(kPcie, s), cores = draw(kCores, s);
  const double host_memory = draw(kHostMemory, s), host_bandwidth = draw(kHostBandwidth, s);
  const double power = draw(kPower, s);
  for (std::size_t m = 0; m < e.on.size(); ++m) {
    // The reference model is the unit that rates are told in, so it has no error of its own.
    if (m > 0) e.on[m].rate *= draw(kRate + m, s);
    core::Demand& d = e.on[m].demand;
    d.busy = std::min(1.0, d.busy * busy);
    d.sm = std::min(1.0, d.sm * sm);
    d.dram = std::min(1.0, d.dram * dram);
    d.gpu_memory = d.gpu_memory * memory;
    d.pcie = d.pcie * pcie;
    d.cpu_cores *= cores;
    d.host_memory = d.host_memory * host_memory;
    d.host_bandwidth = d.host_bandwidth * host_bandwidth;
    d.power = d.power * power;
    e.gpu_memory_upper = std::max(e.gpu_memory_upper, d.gpu_memory * std::exp(1.645 * s));
  }
  e.cores_upper = std::exp(1.645 * s);
  e.cpu_curve = truth.cpu_curve;
  for (auto& point : e.cpu_curve) point.first *= cores;
  e.contention = draw(kContention, s);
  if (options.durations) e.duration = truth.work * draw(kDuration, *options.durations);
  return e;
}

}  // namespace

core::Estimate Believe(const core::Job& job, const TrueJob& truth, const BeliefOptions& options) {
  return Draw(job, truth, options, options.figures);
}

core::Estimate Measured(const core::Job& job, const TrueJob& truth, const BeliefOptions& options) {
  return Draw(job, truth, options, 0);
}

}  // namespace sharewell::sim
