#include "control/service/view/published_view.h"

#include <cstddef>
#include <utility>

#include "control/service/record/plan_records.h"

namespace sharewell::control {

PublishedView::PublishedView(const Parts& parts) : parts_(parts), turns_(parts.clock) {}

ServiceView PublishedView::Read() const {
  const platform::MutexLock lock(mutex_);
  ServiceView view = view_;
  view.busy_for = turns_.BusyFor();
  return view;
}

void PublishedView::Begin(core::UnixMillis since, const std::string& policy) {
  const platform::MutexLock lock(mutex_);
  view_.since = since;
  view_.policy = policy;
}

bool PublishedView::SetPlanProblem(const std::string& problem) {
  const bool news = problem.empty() != plan_problem_.empty();
  plan_problem_ = problem;
  return news;
}

void PublishedView::Publish() {
  const ServiceState& state = parts_.state;
  const core::Cluster& cluster = state.cluster;
  ServiceView now;
  now.gpus = state.gpus.views();
  for (std::size_t i = 0; i < now.gpus.size(); ++i) {
    now.gpus[i].jobs = JobsOn({core::GpuId(i)}, {}, state.snapshot, state.live);
  }
  for (std::size_t i = 0; i < cluster.nodes().size(); ++i) {
    const core::NodeId node(i);
    now.cores += cluster.node(node).cores.value_or(0);
    now.cores_given += state.snapshot.cores_used(node);
  }
  if (cluster_ == nullptr) cluster_ = std::make_shared<const core::Cluster>(cluster);
  now.cluster = cluster_;
  if (!cluster.nodes().empty()) now.node = cluster.nodes().front().name;
  now.simulated_cores = parts_.simulated_cores;
  const Outbox& outbox = parts_.journal.outbox();
  now.store_up = outbox.problem().empty();
  now.store_problem = outbox.problem();
  now.plan_problem = plan_problem_;
  if (parts_.manager != nullptr) now.runner_problem = parts_.manager->Problem();
  now.owed = outbox.owed();
  now.tally = parts_.journal.tally();
  now.decisions = turns_.decided();
  now.decision_p99 = turns_.P99();
  const platform::MutexLock lock(mutex_);
  now.since = view_.since;
  now.policy = view_.policy;
  view_ = std::move(now);
}

}  // namespace sharewell::control
