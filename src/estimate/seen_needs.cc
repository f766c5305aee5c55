#include "estimate/seen_needs.h"

#include <algorithm>

namespace sharewell::estimate {
namespace {

constexpr core::Ratio kStarved = 0.9;  // of the cores given: it would have used more
constexpr core::Ratio kTryMore = 1.5;

}  // namespace

double CoresNeeded(double used_a_gpu, double given, int gpus) {
  const double given_a_gpu = given / std::max(gpus, 1);
  const bool starved = given > 0 && used_a_gpu >= kStarved * given_a_gpu;
  return starved ? std::max(used_a_gpu, given_a_gpu) * kTryMore : used_a_gpu;
}

core::Needs SeenNeeds(const core::Needs& believed, const core::Profile& seen, double given,
                      int gpus) {
  core::Needs needs = believed;
  core::Profile& p = needs.profile;
  if (!seen.gpu.empty() && seen.gpu != p.gpu && seen.busy) {
    p.gpu = seen.gpu;
    p.steps_per_second.reset();
    p.sm.reset();
    p.dram.reset();
    p.pcie.reset();
    p.power.reset();
    p.kernel_time.reset();
    needs.duration.reset();
    needs.sources.sm = needs.sources.duration = needs.sources.pace = core::Source::kAssumed;
  }
  constexpr core::Source kSeen = core::Source::kObserved;
  const auto take = [](auto& figure, const auto& from) {
    if (from) figure = from;
    return from.has_value();
  };
  if (take(p.steps_per_second, seen.steps_per_second)) needs.sources.pace = kSeen;
  take(p.busy, seen.busy);
  if (take(p.sm, seen.sm)) needs.sources.sm = kSeen;
  take(p.dram, seen.dram);
  take(p.pcie, seen.pcie);
  if (take(p.host_memory, seen.host_memory)) needs.sources.host_memory = kSeen;
  take(p.host_bandwidth, seen.host_bandwidth);
  take(p.power, seen.power);
  take(p.kernels, seen.kernels);
  // Where the kernels a step are known, their mean time follows from what was seen.
  if (seen.busy && seen.steps_per_second && p.kernels) p.kernel_time.reset();
  take(p.kernel_time, seen.kernel_time);
  if (seen.gpu_memory) {
    p.gpu_memory = seen.gpu_memory;
    needs.sources.gpu_memory = kSeen;
    needs.gpu_memory_upper.reset();
  }
  if (seen.cpu_cores) {
    p.cpu_cores = CoresNeeded(*seen.cpu_cores, given, gpus);
    p.cpu_curve.clear();
    needs.sources.cores = kSeen;
    needs.cores_upper.reset();
  }
  if (seen.busy) {
    needs.sources.busy = kSeen;
    needs.from = "itself, watched alone";
  }
  return needs;
}

core::Profile WithoutPace(core::Profile seen) {
  seen.steps_per_second.reset();
  seen.busy.reset();
  seen.sm.reset();
  seen.dram.reset();
  seen.kernel_time.reset();
  seen.power.reset();
  return seen;
}

std::optional<core::Ratio> SmAlone(const core::Needs& believed, const std::string& model,
                                   std::optional<core::Bytes> held) {
  constexpr double kTrains = 0.8;
  const auto& known = believed.profile.gpu_memory;
  // A prediction is not good enough to judge anybody by.
  if (believed.sources.sm != core::Source::kObserved || believed.profile.gpu != model) {
    return std::nullopt;
  }
  return known && held && *held >= *known * kTrains ? believed.profile.sm : std::nullopt;
}

}  // namespace sharewell::estimate
