#include "predict/needs.h"

#include <algorithm>

namespace sharewell::predict {
namespace {

// No GPU is near it: what is beyond is as far beyond every GPU as this.
constexpr double kMostBytes = 1e15;

}  // namespace

core::Needs NeedsOf(const Prediction& prediction, core::Seconds all_reduce) {
  const Prediction& p = prediction;
  core::Needs needs;
  needs.sources = core::Sources::All(core::Source::kPredicted);
  core::Profile& profile = needs.profile;
  const double step = p[Figure::kStepSeconds].median + all_reduce.value;
  if (step > 0) profile.steps_per_second = 1 / step;
  const double slowest = p[Figure::kStepSeconds].high + all_reduce.value;
  const double fastest = p[Figure::kStepSeconds].low + all_reduce.value;
  if (slowest > 0) needs.pace_low = 1 / slowest;
  if (fastest > 0) needs.pace_high = 1 / fastest;
  profile.busy = p[Figure::kBusy].median;
  profile.sm = std::min(p[Figure::kSm].median, p[Figure::kBusy].median);
  profile.dram = p[Figure::kDram].median;
  profile.gpu_memory = core::Bytes(std::min(p[Figure::kMemory].median, kMostBytes));
  profile.pcie = core::BytesPerSecond(p[Figure::kPcie].median);
  profile.cpu_cores = p[Figure::kCores].median;
  profile.host_memory = core::Bytes(p[Figure::kHostMemory].median);
  profile.host_bandwidth = core::BytesPerSecond(p.host_bandwidth.median);
  profile.power = core::Watts(p[Figure::kPower].median);
  if (p.kernels > 0) {
    profile.kernel_time = p.KernelTime();
    profile.kernels = p.kernels;
  }
  // What it holds once it trains. The allocator's peak is no need: cuDNN's search for algorithms
  // takes what is free, and does with less.
  needs.gpu_memory_upper = core::Bytes(std::min(p[Figure::kMemory].high, kMostBytes));
  needs.cores_upper = p[Figure::kCores].high;
  return needs;
}

}  // namespace sharewell::predict
