// CPU-only jobs beside training jobs: where a training job starves, they are believed to move as
// much memory as explains it, and the policy slows them. Where a counter tells their traffic, the
// policy knows it before anybody starves.
#include <algorithm>

#include "control/service/parts/plan_records.h"
#include "control/service/service_impl.h"

namespace sharewell::control {

namespace {
constexpr core::Seconds kLookAtHostEvery(1);
}

void Service::Impl::LookAtHost() {
  const core::Seconds now = snapshot.now();
  if (snapshot.cpu_only_jobs() == 0 || now < looked_at_host + kLookAtHostEvery) return;
  looked_at_host = now;
  std::map<core::NodeId, std::vector<core::JobId>> cpu_jobs;
  std::vector<HostSufferer> training;
  for (const core::JobId id : snapshot.running()) {
    const LiveJob* job = live.Find(id);
    if (job == nullptr || job->record.phase != core::Phase::kRunning) continue;
    const core::Allocation& where = snapshot.job(id).allocation;
    const auto& on = where.gpus;
    const core::NodeId node = on.empty() ? where.node : cluster.NodeOf(on.front());
    // Without its limit the policy would not slow anybody.
    if (!node.valid() || !cluster.node(node).memory_bandwidth) continue;
    if (on.empty()) {
      cpu_jobs[node].push_back(id);
      continue;
    }
    const bool apart = std::any_of(on.begin(), on.end(), [&](core::GpuId gpu) {
      return cluster.NodeOf(gpu) != node || !gpus.views()[gpu.index()].strangers.empty();
    });
    if (apart || !JobsOn(on, id, snapshot, live).empty()) continue;
    training.push_back(
        {id, node, paces.guard().PaceOf(id).steps_per_second, StepsByProfile(job->record)});
  }
  for (const HostShare& told : host_pressure.Look(now, training, cpu_jobs)) {
    HoldTo(told, cpu_jobs[told.node]);
  }
}

void Service::Impl::HoldTo(const HostShare& told, const std::vector<core::JobId>& cpu_jobs) {
  const core::Node& node = cluster.node(told.node);
  double trained = 0;
  for (const core::JobId id : snapshot.running()) {
    for (const core::GpuId gpu : snapshot.job(id).allocation.gpus) {
      if (cluster.NodeOf(gpu) != told.node) continue;
      trained += snapshot.job(id).estimate.On(node.model).demand.host_bandwidth.value;
    }
  }
  const double left = std::max(node.memory_bandwidth->value - trained,
                               HostPressure::kLeastShare * node.memory_bandwidth->value);
  for (const core::JobId id : cpu_jobs) {
    core::Estimate estimate = Believe(snapshot.job(id).job);
    if (told.share < 1) {
      const core::BytesPerSecond each(left / (told.share * static_cast<double>(cpu_jobs.size())));
      for (auto& on : estimate.on) {
        on.demand.host_bandwidth = std::max(on.demand.host_bandwidth, each);
      }
    }
    loop->Learn(id, std::move(estimate), snapshot.job(id).profiled);
  }
  engine.Wake();  // decide with it
}

}  // namespace sharewell::control
