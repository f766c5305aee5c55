// What it takes to play a server's jobs in the simulator: what was believed of each, and a note of
// what became of it.
#pragma once

#include <optional>
#include <vector>

#include "control/loop/estimator.h"
#include "control/loop/recorder.h"
#include "core/plan.h"
#include "core/result.h"

namespace sharewell::simulation {

// Where and why a job first started, or why it last had to wait.
struct Played {
  std::optional<core::Seconds> start;
  core::Allocation where;
  std::optional<core::Reason> reason;
};

// Keeps what happened to each job first.
class PlayRecorder final : public control::Recorder {
 public:
  explicit PlayRecorder(std::size_t jobs) : jobs_(jobs) {}
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override;
  void OnDecision(core::Seconds) override {}

  // It had started before.
  void Seated(core::JobId id) { jobs_[id.index()].start = core::Seconds(0); }
  const Played& Of(core::JobId id) const { return jobs_[id.index()]; }
  std::size_t started() const { return started_; }

 private:
  std::vector<Played> jobs_;
  std::size_t started_ = 0;
};

// What was believed, whatever is asked: of a job under watch nothing more is known.
class PlayEstimator final : public control::Estimator {
 public:
  explicit PlayEstimator(const std::vector<core::Estimate>& believed) : believed_(believed) {}
  core::Estimate Believe(const core::Job& job) const override { return believed_[job.id.index()]; }
  core::Estimate Measured(const core::Job& job) override { return believed_[job.id.index()]; }

 private:
  const std::vector<core::Estimate>& believed_;
};

}  // namespace sharewell::simulation
