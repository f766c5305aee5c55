#include "control/service/record/plan_keeper.h"

#include <cstddef>
#include <string>
#include <utility>

#include "control/service/record/plan_records.h"
#include "control/service/view/wait_words.h"

namespace sharewell::control {

using core::Phase;

core::Result<void> PlanKeeper::Keep(const core::Plan& plan) {
  ServiceState& state = parts_.state;
  store::JobChanges changes = RecordsOf(plan, state.snapshot, state.live, state.gpus,
                                        parts_.journal.Wall(), parts_.managed);
  if (!changes.jobs.empty()) {
    if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) return kept;
  }
  if (parts_.managed) parts_.queue.ForgetInfeasible(plan.infeasible);
  const auto place = [&](core::JobId id, const core::Allocation& to) {
    const LiveJob* job = state.live.Find(id);
    if (job != nullptr) parts_.paces.SetPace(*job, state.snapshot.job(id).estimate, to.gpus);
  };
  for (const auto& stop : plan.stops) {
    const LiveJob* job = stop.pause ? state.live.Find(stop.job) : nullptr;
    if (job != nullptr) parts_.pauses.SetGpuMemory(*job);
  }
  for (const auto& move : plan.moves) place(move.job, move.to);
  for (const auto& start : plan.starts) place(start.job, start.to);
  // Why somebody waits is found out anew after a restart; it is shown, not stored.
  for (const auto& wait : plan.waits) {
    if (LiveJob* job = state.live.Find(wait.job)) job->waits = wait.reason;
  }
  if (!plan.waits.empty() || !plan.starts.empty()) ShowReason(plan);
  return {};
}

// A policy says a reason once; who has what is short changes with every start.
void PlanKeeper::ShowReason(const core::Plan& plan) {
  ServiceState& state = parts_.state;
  constexpr std::size_t kMostTold = 256;  // of those whose reason stands: the rest is told later
  WaitWords words(state.snapshot, plan, state.live, state.gpus);
  const auto tell = [&](core::JobId id) {
    LiveJob* job = state.live.Find(id);
    if (job == nullptr || !job->waits || job->record.phase != Phase::kWaiting) return;
    std::string reason = words.Of(*job->waits);
    const core::Submission& asked = job->record.asked;
    if (!asked.exclusive && asked.gpus == 1) {
      reason += WhyNotShared(*job->waits, state.cluster, parts_.nodes.not_shared());
    }
    if (reason == job->record.reason) return;
    job->record.reason = std::move(reason);
    state.board.Put(job->record);
  };
  for (const auto& start : plan.starts) {
    if (LiveJob* job = state.live.Find(start.job)) job->waits.reset();
  }
  for (const auto& wait : plan.waits) tell(wait.job);
  std::size_t told = 0;
  for (const core::JobId id : state.snapshot.waiting()) {
    if (++told > kMostTold) break;
    tell(id);
  }
}

}  // namespace sharewell::control
