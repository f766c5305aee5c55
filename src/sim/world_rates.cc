// How fast jobs run in a World, and what its meters show: worked out anew for whatever changed.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/numbers/random.h"
#include "sim/true_speed.h"
#include "sim/world.h"

namespace sharewell::sim {
namespace {

using core::Allocation;
using core::GpuId;
using core::JobId;
using core::NodeId;
using core::Ratio;
using core::Seconds;

// CODA: gangs over nodes lose 25-30 % on 10 Gb/s; their all-reduce time shrinks with bandwidth.
constexpr double kAllReduceShare = 0.379;  // of a step, at 10 Gb/s: 1 / 1.379 = 0.725
constexpr core::BytesPerSecond kAllReduceAt{1.25e9};

// CODA again: waiting for the network, no gang over nodes could use more than two cores a node.
constexpr double kCoresANodeInGangs = 2;

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void World::NeighbourSpeeds(GpuId gpu) {
  GpuState& g = gpus_[gpu.index()];
  const auto model = cluster_->ModelOf(gpu);
  std::array<interference::Resident, core::kMaxJobsOnGpu> residents;
  std::size_t n = 0;
  for (JobId id : g.residents.jobs()) {
    if (StartsUp(id)) continue;
    residents[n++] = {(*jobs_)[id.index()].workload, &DemandOn(id, gpu), 1,
                      states_[id.index()].where.sm_share};
  }
  std::size_t at = 0;  // in residents
  for (std::size_t i = 0; i < g.residents.jobs().size(); ++i) {
    const JobId id = g.residents.jobs()[i];
    const auto beside = std::span(residents).first(n);
    const Ratio speed = StartsUp(id) ? 1
                        : options_.residual
                            ? TrueSpeed(*interference_, options_.seed, model, beside, at++)
                            : interference_->Speed(model, beside, at++);
    g.speed[i] = static_cast<float>(speed);
    MarkJob(id);
  }
}

Ratio World::SpeedOfShare(JobId id) const {
  const Allocation& where = states_[id.index()].where;
  if (where.sm_share >= 1 || where.gpus.empty()) return 1;
  return interference::SpeedAlone(DemandOn(id, where.gpus.front()), where.sm_share,
                                  interference_->coefficients());
}

Ratio World::HostSpeed(JobId id) const {
  const State& state = states_[id.index()];
  const auto leaves = [&](NodeId n) {
    const auto& facts = cluster_->node(n);
    const NodeState& node = nodes_[n.index()];
    double left = 1;
    if (facts.memory_bandwidth && node.host_bandwidth > facts.memory_bandwidth->value) {
      left = facts.memory_bandwidth->value / node.host_bandwidth;
    }
    if (facts.pcie && node.pcie > facts.pcie->value) {
      left = std::min(left, facts.pcie->value / node.pcie);
    }
    return left;
  };
  if (state.where.gpus.empty()) return leaves(state.where.node);
  double speed = 1;
  NodeId last;
  for (GpuId gpu : state.where.gpus) {
    const NodeId n = cluster_->NodeOf(gpu);
    if (n == last) continue;
    last = n;
    const double left = leaves(n);
    if (left >= 1) continue;
    const double busy = DemandOn(id, gpu).busy;
    speed = std::min(speed, 1 / (busy + (1 - busy) / left));
  }
  return speed;
}

void World::UpdateRate(JobId id, Events& out) {
  State& state = states_[id.index()];
  const core::Job& job = (*jobs_)[id.index()];
  const TrueJob& truth = (*truth_)[id.index()];
  SettleProgress(id);
  Ratio alone = 1;
  Ratio beside = 1;
  Ratio rest = state.throttle;
  if (job.gpus == 0) {
    if (job.cores && *job.cores > 0) rest *= std::min(1.0, state.where.cores / *job.cores);
  } else {
    alone = std::numeric_limits<double>::infinity();
    const auto& gpus = state.where.gpus;
    bool cores_stated = true;
    int nodes = 0;
    NodeId last;
    double slowest_network = std::numeric_limits<double>::infinity();
    for (GpuId gpu : gpus) {
      alone = std::min(alone, truth.on[cluster_->ModelOf(gpu).index()].rate);
      const GpuState& g = gpus_[gpu.index()];
      const auto residents = g.residents.jobs();
      for (std::size_t k = 0; k < residents.size(); ++k) {
        if (residents[k] == id) beside = std::min(beside, static_cast<double>(g.speed[k]));
      }
      const NodeId here = cluster_->NodeOf(gpu);
      nodes += here != last ? 1 : 0;
      last = here;
      const auto& node = cluster_->node(here);
      cores_stated = cores_stated && node.cores.has_value();
      if (node.network) slowest_network = std::min(slowest_network, node.network->value);
    }
    const double cores_a_gpu = state.where.cores / static_cast<double>(gpus.size());
    if (cores_stated && nodes > 1) {
      const double wanted = std::min(DemandOn(id, gpus.front()).cpu_cores,
                                     kCoresANodeInGangs * nodes / static_cast<double>(gpus.size()));
      rest *= core::Throughput({}, wanted, cores_a_gpu);
    } else if (cores_stated) {
      rest *= core::Throughput(truth.cpu_curve, DemandOn(id, gpus.front()).cpu_cores, cores_a_gpu);
    }
    if (nodes > 1 && std::isfinite(slowest_network)) {
      rest *= 1 / (1 + kAllReduceShare * kAllReduceAt.value / slowest_network);
    }
  }
  const Ratio disturbed = beside * HostSpeed(id);
  const bool stalled = state.dying || state.resume_at > now_;
  const Ratio rate = state.dying ? 0 : alone * disturbed * rest;
  state.undisturbed_rate = alone * rest * (job.sm_share ? SpeedOfShare(id) : 1);
  state.speed = stalled ? 0 : disturbed * rest;
  if (!Near(rate, state.rate) || state.rate == 0) {
    state.rate = rate;
    ++state.pace;
    if (rate > 0) {
      const Seconds left = std::max(truth.work - state.attained, Seconds(0));
      Push(id, std::max(now_, state.resume_at) + left / rate, EventKind::kFinish);
    }
  }
  const double wanted = job.gpus == 0 ? state.where.cores
                                      : DemandOn(id, state.where.gpus.front()).cpu_cores * job.gpus;
  const double used = std::min(state.where.cores, wanted * state.speed);
  cores_used_now_ += used - state.cores_used;
  state.cores_used = used;
  out.progress.push_back({id, state.attained, state.resume_at > now_ ? 0 : rate, state.startup});
}

void World::UpdateMeters(GpuId gpu) {
  GpuState& g = gpus_[gpu.index()];
  const auto& model = cluster_->model(cluster_->ModelOf(gpu));
  double busy = 0;
  double sm = 0;
  double watts = model.idle_power ? model.idle_power->value : 0;
  for (JobId id : g.residents.jobs()) {
    const core::Demand& d = DemandOn(id, gpu);
    const Ratio speed = states_[id.index()].speed;
    if (!d.known) totals_.busy_known = false;
    if (d.power.value <= 0) totals_.power_known = false;
    busy += d.busy * speed / SpeedOfShare(id);  // kernels on fewer SMs take longer
    sm += d.sm * speed;
    if (model.idle_power) watts += std::max(0.0, d.power.value - model.idle_power->value) * speed;
  }
  busy = std::min(busy, 1.0);
  sm = std::min(sm, 1.0);
  if (model.power_limit) watts = std::min(watts, model.power_limit->value);
  busy_now_ += busy - g.busy;
  sm_now_ += sm - g.sm;
  watts_now_ += watts - g.watts;
  g.busy = busy;
  g.sm = sm;
  g.watts = watts;
}

void World::Settle(Events& out) {
  for (NodeId n : dirty_nodes_) {
    NodeState& node = nodes_[n.index()];
    node.dirty = false;
    for (JobId id : node.cpu_jobs) MarkJob(id);
    const auto& facts = cluster_->node(n);
    for (int k = 0; k < facts.gpus; ++k) {
      for (JobId id :
           gpus_[facts.first_gpu.index() + static_cast<std::size_t>(k)].residents.jobs()) {
        MarkJob(id);
      }
    }
  }
  dirty_nodes_.clear();
  for (GpuId gpu : dirty_gpus_) NeighbourSpeeds(gpu);
  std::sort(dirty_jobs_.begin(),
            dirty_jobs_.end());  // the order of events must not depend on history
  for (JobId id : dirty_jobs_) {
    State& state = states_[id.index()];
    state.dirty = false;
    if (!state.running) continue;
    UpdateRate(id, out);
    for (GpuId gpu : state.where.gpus) MarkGpu(gpu);
  }
  dirty_jobs_.clear();
  for (GpuId gpu : dirty_gpus_) {
    gpus_[gpu.index()].dirty = false;
    UpdateMeters(gpu);
  }
  dirty_gpus_.clear();
}

}  // namespace sharewell::sim
