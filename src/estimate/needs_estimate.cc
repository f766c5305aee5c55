#include "estimate/needs_estimate.h"

#include <algorithm>
#include <cmath>

#include "interference/carry_over.h"

namespace sharewell::estimate {
namespace {

using core::Bytes;
using core::Demand;
using core::GpuModel;
using core::Profile;

constexpr core::Ratio kMemoryUpper = 1.13;  // as the predictor's own bound is on held-out families
constexpr core::Ratio kPredictedCoresUpper = 1.25;
constexpr core::Ratio kMeasuredCoresUpper = 1.1;
// Of host memory: what was measured is the most that was seen, what was predicted a median.
constexpr core::Ratio kPredictedHostUpper = 1.25;
constexpr core::Ratio kMeasuredHostUpper = 1.1;

core::Ratio HostMemoryUpper(const core::Needs& needs) {
  return needs.sources.host_memory == core::Source::kObserved ? kMeasuredHostUpper
                                                              : kPredictedHostUpper;
}

template <class T>
void DropUnlessSane(std::optional<T>& figure, double most) {
  double value = 0;
  if constexpr (std::is_same_v<T, double>) {
    value = figure.value_or(0);
  } else {
    value = figure.value_or(T()).value;
  }
  if (!std::isfinite(value) || value < 0 || value > most) figure.reset();
}

// The model that the figures are of; the cluster's first where nobody says.
GpuModel ModelMeasuredOn(const std::string& name, const core::Cluster& cluster,
                         const FindGpuModel& find) {
  const auto& models = cluster.models();
  const auto here = std::find_if(models.begin(), models.end(),
                                 [&](const GpuModel& model) { return core::IsNamed(model, name); });
  if (here != models.end()) return *here;
  if (!name.empty()) {
    if (const GpuModel* known = find(name)) {
      // The same model may be known here with what it really has.
      for (const GpuModel& model : models) {
        if (model.name == known->name) return model;
      }
      return *known;
    }
  }
  return models.front();
}

core::Estimate OfCpuOnlyJob(const core::Needs& needs, const core::Submission& asked,
                            const core::Cluster& cluster) {
  Demand demand = interference::DemandOf(needs.profile);
  demand.busy = demand.sm = demand.dram = 0;
  demand.gpu_memory = {};
  demand.known = true;
  demand.cpu_cores = asked.cores.value_or(std::max(1.0, demand.cpu_cores));
  core::Estimate estimate;
  estimate.on.assign(std::max<std::size_t>(cluster.models().size(), 1), {1, demand});
  estimate.duration = needs.duration;
  estimate.sources = needs.sources;
  if (asked.cores) estimate.sources.cores = core::Source::kTold;
  estimate.host_memory_upper = HostMemoryUpper(needs);
  return estimate;
}

void SizeCores(const core::Needs& needs, const core::Submission& asked,
               const core::Cluster& cluster, core::Estimate& estimate) {
  const Profile& profile = needs.profile;
  const auto most = asked.cores ? std::optional(*asked.cores / asked.gpus) : std::nullopt;
  if (!profile.cpu_cores) {
    for (std::size_t m = 0; m < estimate.on.size(); ++m) {
      const double share = cluster.CoresAGpu(core::GpuModelId(m)).value_or(1);
      estimate.on[m].demand.cpu_cores = most.value_or(std::max(1.0, std::floor(share)));
    }
    estimate.sources.cores = most ? core::Source::kTold : core::Source::kAssumed;
    return;
  }
  estimate.cpu_curve = profile.cpu_curve;
  if (needs.cores_upper && *profile.cpu_cores > 0) {
    estimate.cores_upper = std::max(1.0, *needs.cores_upper / *profile.cpu_cores);
  } else {
    estimate.cores_upper =
        needs.sources.cores == core::Source::kObserved ? kMeasuredCoresUpper : kPredictedCoresUpper;
  }
  if (!most) return;
  // What it can use, but no more than was asked for.
  double wanted = 0;
  for (auto& on : estimate.on) {
    if (on.demand.cpu_cores > *most) estimate.sources.cores = core::Source::kTold;
    on.demand.cpu_cores = std::min(on.demand.cpu_cores, *most);
    wanted = std::max(wanted, on.demand.cpu_cores);
  }
  if (wanted > 0) estimate.cores_upper = std::clamp(*most / wanted, 1.0, estimate.cores_upper);
  const auto& curve = estimate.cpu_curve;
  if (!curve.empty() && curve.back().first * estimate.cores_upper > *most) {
    estimate.cpu_curve.clear();
  }
}

void BoundMemory(const core::Needs& needs, const core::Submission& asked,
                 const core::Cluster& cluster, core::Estimate& estimate) {
  std::optional<Bytes> median = needs.profile.gpu_memory;
  std::optional<Bytes> upper = MemoryUpper(needs);
  if (!median && !upper) estimate.sources.gpu_memory = core::Source::kAssumed;
  if (asked.gpu_memory) {
    if (!upper || *asked.gpu_memory < *upper) estimate.sources.gpu_memory = core::Source::kTold;
    median = std::min(median.value_or(*asked.gpu_memory), *asked.gpu_memory);
    upper = std::min(upper.value_or(*asked.gpu_memory), *asked.gpu_memory);
  }
  // Of which nothing is known fills whichever GPU it gets, and may get the smallest of those that
  // it may run on: else it would wait for the largest while others stand idle.
  std::optional<Bytes> smallest;
  for (std::size_t m = 0; m < estimate.on.size(); ++m) {
    const GpuModel& model = cluster.models()[m];
    estimate.on[m].demand.gpu_memory = median.value_or(model.memory);
    if (!core::IsAllowed(asked.gpu_models, model)) continue;
    smallest = std::min(smallest.value_or(model.memory), model.memory);
  }
  const Bytes fills = smallest.value_or(cluster.models().front().memory);
  estimate.gpu_memory_upper = upper.value_or(median ? *median * kMemoryUpper : fills);
}

}  // namespace

std::optional<core::Bytes> MemoryUpper(const core::Needs& needs) {
  const std::optional<Bytes>& median = needs.profile.gpu_memory;
  std::optional<Bytes> upper = needs.gpu_memory_upper;
  if (median && !upper) upper = *median * kMemoryUpper;
  if (median && upper) upper = std::max(*upper, *median);
  return upper;
}

core::Needs AsBrought(core::Needs needs) {
  constexpr double kMost = 1e18;
  // Who brings figures may have seen them; here nobody has.
  auto& [busy, sm, gpu_memory, cores_used, host_memory, duration, pace] = needs.sources;
  for (auto* source : {&busy, &sm, &gpu_memory, &cores_used, &host_memory, &duration, &pace}) {
    *source = std::min(*source, core::Source::kTold);
  }
  Profile& p = needs.profile;
  for (auto* ratio : {&p.busy, &p.sm, &p.dram}) DropUnlessSane(*ratio, 1 + 1e-6);
  DropUnlessSane(p.steps_per_second, kMost);
  DropUnlessSane(needs.pace_low, kMost);
  DropUnlessSane(needs.pace_high, kMost);
  DropUnlessSane(p.gpu_memory, kMost);
  DropUnlessSane(p.pcie, kMost);
  DropUnlessSane(p.cpu_cores, 1e6);
  DropUnlessSane(p.host_memory, kMost);
  DropUnlessSane(p.host_bandwidth, kMost);
  DropUnlessSane(p.power, 1e6);
  DropUnlessSane(p.kernel_time, 1e6);
  DropUnlessSane(p.kernels, 1e12);
  DropUnlessSane(needs.gpu_memory_upper, kMost);
  DropUnlessSane(needs.cores_upper, 1e6);
  DropUnlessSane(needs.duration, 1e12);
  double cores = 0;
  double share = 0;
  for (const auto& [x, y] : p.cpu_curve) {
    const bool rises = std::isfinite(x) && std::isfinite(y) && x > cores && y >= share && y <= 1;
    if (!rises || x > 1e6) {
      p.cpu_curve.clear();
      break;
    }
    cores = x;
    share = y;
  }
  return needs;
}

void TakeObservedPace(core::Needs& needs, const core::Needs& runs) {
  const bool seen = runs.sources.pace == core::Source::kObserved && runs.profile.steps_per_second;
  if (!seen || needs.sources.pace == core::Source::kObserved) return;
  if (needs.profile.gpu.empty()) needs.profile.gpu = runs.profile.gpu;
  if (needs.profile.gpu != runs.profile.gpu) return;
  needs.profile.steps_per_second = runs.profile.steps_per_second;
  needs.sources.pace = core::Source::kObserved;
}

void FillFrom(core::Needs& needs, const core::Needs& rest) {
  const auto fill = [](auto& figure, const auto& other) {
    if (!figure) figure = other;
  };
  // The same, of a figure whose source is kept.
  const auto fill_from = [&](auto& figure, const auto& other, core::Source core::Sources::*source) {
    if (figure || !other) return;
    figure = other;
    needs.sources.*source = rest.sources.*source;
  };
  Profile& p = needs.profile;
  const Profile& q = rest.profile;
  fill_from(needs.duration, rest.duration, &core::Sources::duration);
  if (p.workload.name.empty()) p.workload = q.workload;
  if (p.gpu.empty()) p.gpu = q.gpu;
  // A rate or a share of one GPU model says nothing of another.
  if (p.gpu == q.gpu) {
    if (!p.steps_per_second) {
      needs.pace_low = rest.pace_low;
      needs.pace_high = rest.pace_high;
    }
    fill_from(p.steps_per_second, q.steps_per_second, &core::Sources::pace);
    fill_from(p.sm, q.sm, &core::Sources::sm);
    fill(p.dram, q.dram);
    fill(p.power, q.power);
    fill(p.pcie, q.pcie);
    fill(p.kernel_time, q.kernel_time);
  }
  fill(p.kernels, q.kernels);
  if (!p.gpu_memory) {
    fill_from(p.gpu_memory, q.gpu_memory, &core::Sources::gpu_memory);
    fill(needs.gpu_memory_upper, rest.gpu_memory_upper);
  }
  if (!p.cpu_cores) {
    fill_from(p.cpu_cores, q.cpu_cores, &core::Sources::cores);
    fill(needs.cores_upper, rest.cores_upper);
  }
  fill_from(p.host_memory, q.host_memory, &core::Sources::host_memory);
  fill(p.host_bandwidth, q.host_bandwidth);
  if (p.cpu_curve.empty()) p.cpu_curve = q.cpu_curve;
}

core::Estimate EstimateFor(const core::Needs& needs, const core::Submission& asked,
                           const core::Cluster& cluster, const FindGpuModel& find) {
  const auto& models = cluster.models();
  if (asked.gpus == 0 || models.empty()) return OfCpuOnlyJob(needs, asked, cluster);
  core::Estimate estimate;
  estimate.sources = needs.sources;
  estimate.guessed = needs.guessed;
  Demand measured = interference::DemandOf(needs.profile);
  if (needs.sources.busy == core::Source::kAssumed) measured.known = false;
  const GpuModel from = ModelMeasuredOn(needs.profile.gpu, cluster, find);
  for (const GpuModel& to : models)
    estimate.on.push_back(interference::CarryOver(measured, from, to));
  const core::Ratio reference = estimate.on.front().rate;
  for (auto& on : estimate.on) on.rate /= reference;
  if (needs.duration) estimate.duration = *needs.duration / reference;
  BoundMemory(needs, asked, cluster, estimate);
  SizeCores(needs, asked, cluster, estimate);
  estimate.host_memory_upper = HostMemoryUpper(needs);
  return estimate;
}

}  // namespace sharewell::estimate
