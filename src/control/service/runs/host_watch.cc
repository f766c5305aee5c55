#include "control/service/runs/host_watch.h"

#include <algorithm>
#include <map>

#include "control/service/record/plan_records.h"

namespace sharewell::control {

namespace {
constexpr core::Seconds kLookAtHostEvery(1);
}

void HostWatch::Look() {
  const ServiceState& state = parts_.state;
  const core::Seconds now = state.snapshot.now();
  if (state.snapshot.cpu_only_jobs() == 0 || now < looked_ + kLookAtHostEvery) return;
  looked_ = now;
  std::map<core::NodeId, std::vector<core::JobId>> cpu_jobs;
  std::vector<HostSufferer> training;
  for (const core::JobId id : state.snapshot.running()) {
    const LiveJob* job = state.live.Find(id);
    if (job == nullptr || job->record.phase != core::Phase::kRunning) continue;
    const core::Allocation& where = state.snapshot.job(id).allocation;
    const auto& on = where.gpus;
    const core::NodeId node = on.empty() ? where.node : state.cluster.NodeOf(on.front());
    // Without its limit the policy would not slow anybody.
    if (!node.valid() || !state.cluster.node(node).memory_bandwidth) continue;
    if (on.empty()) {
      cpu_jobs[node].push_back(id);
      continue;
    }
    const bool apart = std::any_of(on.begin(), on.end(), [&](core::GpuId gpu) {
      return state.cluster.NodeOf(gpu) != node ||
             !state.gpus.views()[gpu.index()].strangers.empty();
    });
    if (apart || !JobsOn(on, id, state.snapshot, state.live).empty()) continue;
    training.push_back(
        {id, node, parts_.paces.guard().PaceOf(id).steps_per_second, core::RateAlone(job->record)});
  }
  for (const HostShare& told : pressure_.Look(now, training, cpu_jobs)) {
    HoldTo(told, cpu_jobs[told.node]);
  }
}

void HostWatch::HoldTo(const HostShare& told, const std::vector<core::JobId>& cpu_jobs) {
  const ServiceState& state = parts_.state;
  const core::Node& node = state.cluster.node(told.node);
  double trained = 0;
  for (const core::JobId id : state.snapshot.running()) {
    for (const core::GpuId gpu : state.snapshot.job(id).allocation.gpus) {
      if (state.cluster.NodeOf(gpu) != told.node) continue;
      trained += state.snapshot.job(id).estimate.On(node.model).demand.host_bandwidth.value;
    }
  }
  const double left = std::max(node.memory_bandwidth->value - trained,
                               HostPressure::kLeastShare * node.memory_bandwidth->value);
  for (const core::JobId id : cpu_jobs) {
    core::Estimate estimate = parts_.beliefs.Believe(state.snapshot.job(id).job);
    if (told.share < 1) {
      const core::BytesPerSecond each(left / (told.share * static_cast<double>(cpu_jobs.size())));
      for (auto& on : estimate.on) {
        on.demand.host_bandwidth = std::max(on.demand.host_bandwidth, each);
      }
    }
    parts_.loop.Learn(id, std::move(estimate), state.snapshot.job(id).profiled);
  }
  parts_.engine.Wake();  // decide with it
}

}  // namespace sharewell::control
