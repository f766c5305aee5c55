#include "simulation/replay/play.h"

namespace sharewell::simulation {

core::Result<void> PlayRecorder::OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) {
  for (const auto& start : plan.starts) {
    Played& played = jobs_[start.job.index()];
    if (played.start) continue;
    played = {snapshot.now(), start.to, start.reason};
    ++started_;
  }
  for (const auto& wait : plan.waits) {
    if (!jobs_[wait.job.index()].start) jobs_[wait.job.index()].reason = wait.reason;
  }
  for (const core::JobId id : plan.infeasible) {
    jobs_[id.index()].reason = core::reason::Infeasible{};
  }
  return {};
}

}  // namespace sharewell::simulation
