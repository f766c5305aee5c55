// Runs that were told to stop and whose manager does not allow it now (a PodDisruptionBudget): they
// run on at their place, and whoever was to have it waits, or takes another's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::GpuId;
using core::JobId;
using core::Seconds;

namespace {

// After a stop that was refused, and twice that after each further one.
constexpr Seconds kStays(15);
constexpr Seconds kStaysMost(60);

}  // namespace

// What it means is seen to when the loop is told next, and not while a plan is carried out: who
// comes to its place with that plan must know that it is taken.
void LiveRuns::Handle(const StopRefused& event) {
  const auto found = runs_.find(event.id);
  if (found == runs_.end()) return;
  Entry& job = jobs_.at(found->second);
  Run& run = *job.run;
  if (!run.leaves || *run.leaves == Why::kFail || run.stop_again || !run.refused.empty()) {
    return;  // late, or twice
  }
  const Seconds again =
      runner_.Now() + std::min(kStays * std::exp2(job.refused_stops++), kStaysMost);
  if (*run.leaves == Why::kPlan && !run.gpus.empty() && !job.over) {
    run.refused = event.why.empty() ? "its manager does not allow it" : event.why;
    run.stays_until = again;
    return;
  }
  // It shares badly, or nobody waits for it: it is to leave as soon as it may.
  run.stop_again = again;
  Note(RunNote{event.id, event.why});
}

void LiveRuns::StopAgainWhatIsDue() {
  const Seconds now = runner_.Now();
  for (const JobId id : live_) {
    Entry& job = jobs_.at(id);
    if (job.run && job.run->stop_again && now >= *job.run->stop_again) SendStop(*job.run);
  }
}

// Nobody of them has begun: starts wait until who leaves is gone.
void LiveRuns::GiveUpStartsOn(const Run& run) {
  const std::string why = fmt::format("job {} was to leave its place for it, and does not: {}",
                                      run.request.id.job, run.refused);
  for (const JobId id : std::vector<JobId>(starts_)) {
    Entry& job = jobs_.at(id);
    if (!job.next || job.next->request.id.job == run.request.id.job) continue;
    const auto& to = job.next->gpus;
    if (std::none_of(to.begin(), to.end(), [&](GpuId gpu) {
          return std::find(run.gpus.begin(), run.gpus.end(), gpu) != run.gpus.end();
        })) {
      continue;
    }
    requeued_.push_back(id);
    GiveUp(id, job, Outcome::kRequeued, why);
  }
}

void LiveRuns::TakeBackStaying() {
  for (const JobId id : live_) {
    Entry& job = jobs_.at(id);
    if (!job.run || job.run->refused.empty()) continue;
    Run& run = *job.run;
    if (run.leaves != Why::kPlan || job.over) {  // somebody wants it gone for good meanwhile
      run.refused.clear();
      run.stays_until.reset();
      if (run.leaves && *run.leaves != Why::kFail) run.stop_again = runner_.Now() + kStays;
      continue;
    }
    run.leaves.reset();
    run.taken_back = true;
    job.settled = runner_.Now();
    job.fresh = job.due = true;
    Note(StopRefused{run.request.id, run.refused});
    if (job.next) {
      // It had been given another place: that attempt is never made, and its number not used again.
      std::erase(starts_, id);
      job.next.reset();
      requeued_.push_back(id);
      if (run.started) Note(RunStarted{run.request.id});
    }
  }
  std::vector<const Run*> staying;
  for (const JobId id : live_) {
    const Entry& job = jobs_.at(id);
    if (job.run && job.run->taken_back) staying.push_back(&*job.run);
  }
  for (const Run* run : staying) GiveUpStartsOn(*run);
  if (!staying.empty()) BeginWhatCan();
}

void LiveRuns::TellStaying(Observation& out) {
  for (const JobId id : live_) {
    Entry& job = jobs_.at(id);
    if (!job.run) continue;
    Run& run = *job.run;
    if (std::exchange(run.taken_back, false)) {
      job.believed = true;
      run.refused.clear();
      out.stays.push_back({id, true, PlaceOf(run), run.began.value_or(out.now)});
    } else if (run.stays_until && out.now >= *run.stays_until && run.refused.empty()) {
      run.stays_until.reset();
      if (job.believed) out.stays.push_back({id, false});
    }
  }
}

}  // namespace sharewell::engine
