#include "sim/belief.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/random.h"

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
  kKernelTime,
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

// The errors of one job: a predictor's own, or drawn.
PredictedFigures Drawn(const Draws& draw, double s) {
  PredictedFigures out;
  out.busy = draw(kBusy, s);
  out.sm = draw(kSm, s);
  out.dram = draw(kDram, s);
  out.gpu_memory = draw(kGpuMemory, s);
  out.pcie = draw(kPcie, s);
  out.cores = draw(kCores, s);
  out.host_memory = draw(kHostMemory, s);
  out.power = draw(kPower, s);
  out.kernel_time = draw(kKernelTime, s);
  out.gpu_memory_upper = out.cores_upper = out.host_memory_upper = std::exp(1.645 * s);
  return out;
}

core::Estimate Draw(const core::Job& job, const TrueJob& truth, const BeliefOptions& options,
                    double s) {
  const Draws draw(options.seed, job.id);
  core::Estimate e;
  e.sources = core::Sources::All(s == 0 ? core::Source::kObserved : core::Source::kPredicted);
  e.on = truth.on;
  const std::size_t workload =
      job.workload.valid() ? job.workload.index() : options.predicted.size();
  const bool predicted =
      s > 0 && workload < options.predicted.size() && options.predicted[workload].has_value();
  const PredictedFigures off = predicted ? *options.predicted[workload] : Drawn(draw, s);
  const double host_bandwidth = draw(kHostBandwidth, s);
  for (std::size_t m = 0; m < e.on.size(); ++m) {
    // The reference model is the unit that rates are told in, so it has no error of its own.
    if (m > 0) e.on[m].rate *= draw(kRate + m, s);
    core::Demand& d = e.on[m].demand;
    d.busy = std::min(1.0, d.busy * off.busy);
    d.sm = std::min(1.0, d.sm * off.sm);
    d.dram = std::min(1.0, d.dram * off.dram);
    d.gpu_memory = d.gpu_memory * off.gpu_memory;
    d.pcie = d.pcie * off.pcie;
    d.cpu_cores *= off.cores;
    d.host_memory = d.host_memory * off.host_memory;
    d.host_bandwidth = d.host_bandwidth * host_bandwidth;
    d.power = d.power * off.power;
    if (d.kernel_time) d.kernel_time = *d.kernel_time * off.kernel_time;
    e.gpu_memory_upper = std::max(e.gpu_memory_upper, d.gpu_memory * off.gpu_memory_upper);
  }
  e.cores_upper = off.cores_upper;
  e.host_memory_upper = off.host_memory_upper;
  e.cpu_curve = truth.cpu_curve;
  for (auto& point : e.cpu_curve) point.first *= off.cores;
  e.contention = predicted ? 1 : draw(kContention, s);
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
