// Beliefs: what the loop believes of jobs, by their records and by what was seen of them. The
// loop's thread.
#pragma once

#include "control/loop/estimator.h"
#include "control/service/advisor.h"
#include "control/service/record/journal.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/service.h"
#include "control/service/service_state.h"

namespace sharewell::control {

class Beliefs final : public Estimator {
 public:
  // All must outlive it; `monitor` may be null.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PaceWatch& paces;
    Advisor& advisor;
    JobMonitor* monitor;
  };
  explicit Beliefs(const Parts& parts) : parts_(parts) {}

  core::Estimate Believe(const core::Job& job) const override;
  core::Estimate Measured(const core::Job& job) override;

 private:
  const Parts parts_;
};

}  // namespace sharewell::control
