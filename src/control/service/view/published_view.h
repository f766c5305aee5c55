// PublishedView: how the service stands, for readers. The loop's thread makes it; any thread reads
// what was made last.
#pragma once

#include <memory>
#include <string>

#include "control/service/job_service.h"
#include "control/service/record/journal.h"
#include "control/service/runs/turn_watch.h"
#include "control/service/service_state.h"
#include "core/cluster.h"
#include "core/units.h"
#include "engine/foreign_queue.h"
#include "platform/mutex.h"

namespace sharewell::control {

class PublishedView {
 public:
  // All must outlive it.
  struct Parts {
    const ServiceState& state;
    Journal& journal;
    engine::ForeignQueue* manager;  // null: jobs are submitted here alone
    Clock& clock;
    bool simulated_cores = false;  // as shown
  };
  explicit PublishedView(const Parts& parts);
  PublishedView(const PublishedView&) = delete;
  PublishedView& operator=(const PublishedView&) = delete;

  ServiceView Read() const;  // any thread

  // The server begins to serve, and decides by that policy.
  void Begin(core::UnixMillis since, const std::string& policy);
  void Publish();
  // The cluster is another one: readers get a new copy.
  void OnNewCluster() { cluster_ = nullptr; }
  // Why the policy's last plan was refused; empty: it was not. Whether that is news: it was well
  // before, or is again.
  bool SetPlanProblem(const std::string& problem);
  TurnWatch& turns() { return turns_; }

 private:
  const Parts parts_;
  TurnWatch turns_;
  std::shared_ptr<const core::Cluster> cluster_;  // as readers see it; null: it has changed since
  std::string plan_problem_;

  mutable platform::Mutex mutex_;
  ServiceView view_ SHAREWELL_GUARDED_BY(mutex_);
};

}  // namespace sharewell::control
