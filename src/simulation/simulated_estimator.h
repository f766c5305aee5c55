// SimulatedEstimator: belief from truth, with error: the simulator's stand-in for the predictor.
//
// Where not all jobs are known at submission, a part that is drawn by seed is believed like a job
// of which a server knows nothing (estimate::EstimateFor), but for how long it takes, which its
// user's time limit or earlier runs tell. Once such a job has told of its step, it is believed as
// it would have been had it been known.
#pragma once

#include <optional>

#include "control/loop/estimator.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"

namespace sharewell::simulation {

class SimulatedEstimator final : public control::Estimator {
 public:
  // The scenario must outlive it.
  SimulatedEstimator(const Scenario& scenario, const SimulateOptions& options);

  core::Estimate Believe(const core::Job& job) const override;
  core::Estimate Measured(const core::Job& job) override;
  core::Estimate Told(const core::Job& job) const override;

  // At submission.
  bool Knows(core::JobId job) const;

 private:
  const Scenario& scenario_;
  sim::BeliefOptions belief_;
  std::optional<double> known_;
};

}  // namespace sharewell::simulation
