#include "interference/carry_over.h"

#include <algorithm>
#include <cmath>

namespace sharewell::interference {

using core::Demand;
using core::GpuModel;
using core::Ratio;

namespace {

// Which arithmetic a job does is not told: of FP32 and half precision, the one that the two differ
// less in. Half precision alone gained six times from P100 to V100, and hardly a job did.
Ratio ArithmeticRatio(const GpuModel& from, const GpuModel& to) {
  const Ratio single = from.fp32_tflops / to.fp32_tflops;
  if (!from.fp16_tflops || !to.fp16_tflops) return single;
  const Ratio half = *from.fp16_tflops / *to.fp16_tflops;
  return std::abs(std::log(half)) < std::abs(std::log(single)) ? half : single;
}

}  // namespace

Ratio KernelStretch(const Demand& measured, const GpuModel& from, const GpuModel& to) {
  const double filled = measured.busy > 0 ? std::min(1.0, measured.sm / measured.busy) : 1;
  const double arithmetic = filled * filled;
  return std::pow(ArithmeticRatio(from, to), arithmetic) *
         std::pow(from.bandwidth / to.bandwidth, 1 - arithmetic);
}

core::ModelEstimate CarryOver(const Demand& measured, const GpuModel& from, const GpuModel& to) {
  const auto fourth = [](double x) { return x * x * x * x; };
  core::ModelEstimate out{1, measured};
  const Ratio stretch = KernelStretch(measured, from, to);
  const Ratio busy = std::clamp(measured.busy, 0.0, 1.0);
  // Relative step time. At the same model exactly 1, whatever the roots round to.
  const Ratio step = stretch == 1 ? 1 : std::pow(1 - fourth(busy) + fourth(busy * stretch), 0.25);
  out.rate = 1 / step;
  Demand& d = out.demand;
  d.busy = std::min(1.0, busy * stretch / step);
  const Ratio busier = measured.busy > 0 ? d.busy / measured.busy : 1;
  d.sm = std::min(d.busy, measured.sm * busier);
  d.dram = std::min(1.0, measured.dram * out.rate * (from.bandwidth / to.bandwidth));
  d.pcie = measured.pcie * out.rate;
  if (measured.kernel_time) d.kernel_time = *measured.kernel_time * stretch;
  d.cpu_cores = measured.cpu_cores * out.rate;
  d.host_bandwidth = measured.host_bandwidth * out.rate;
  if (measured.power.value > 0 && from.power_limit && to.power_limit) {
    d.power = measured.power * (*to.power_limit / *from.power_limit) * std::min(busier, 1.0);
  }
  return out;
}

std::optional<core::Seconds> MeanKernelTime(const core::Profile& profile) {
  if (!profile.busy || !profile.steps_per_second || !profile.kernels) return std::nullopt;
  const double kernels_a_second = *profile.steps_per_second * *profile.kernels;
  if (*profile.busy <= 0 || kernels_a_second <= 0) return std::nullopt;
  return core::Seconds(*profile.busy / kernels_a_second);
}

Demand DemandOf(const core::Profile& profile) {
  Demand d;
  d.known = profile.busy.has_value();
  d.busy = profile.busy.value_or(1);
  d.sm = profile.sm.value_or(d.busy);
  d.dram = profile.dram.value_or(0);
  d.gpu_memory = profile.gpu_memory.value_or(core::Bytes(0));
  d.pcie = profile.pcie.value_or(core::BytesPerSecond(0));
  d.cpu_cores = profile.cpu_cores.value_or(0);
  d.host_memory = profile.host_memory.value_or(core::Bytes(0));
  // Every byte sent to the GPU was written to host memory once and is read once: a lower bound.
  d.host_bandwidth = profile.host_bandwidth.value_or(d.pcie * 2);
  d.power = profile.power.value_or(core::Watts(0));
  d.kernel_time = profile.kernel_time ? profile.kernel_time : MeanKernelTime(profile);
  d.kernels = profile.kernels;
  return d;
}

}  // namespace sharewell::interference
