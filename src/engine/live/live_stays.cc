#include "engine/live/live_stays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sharewell::engine {

using core::GpuId;
using core::JobId;
using core::Seconds;
using Why = Attempt::Why;

namespace {

// After a stop that was refused, and twice that after each further one.
constexpr Seconds kStays(15);
constexpr Seconds kStaysMost(60);

}  // namespace

// What it means is seen to when the loop is told next, and not while a plan is carried out: who
// comes to its place with that plan must know that it is taken.
void LiveStays::Handle(const StopRefused& event) {
  JobEntry* job = book_.table.OfRun(event.id);
  if (job == nullptr) return;
  Attempt& run = *job->run;
  if (!run.leaves || *run.leaves == Why::kFail || run.stop_again || !run.refused.empty()) {
    return;  // late, or twice
  }
  const Seconds again =
      book_.Now() + std::min(kStays * std::exp2(job->refused_stops++), kStaysMost);
  if (*run.leaves == Why::kPlan && !run.gpus.empty() && !job->over) {
    run.refused = event.why.empty() ? "its manager does not allow it" : event.why;
    run.stays_until = again;
    return;
  }
  // It shares badly, or nobody waits for it: it is to leave as soon as it may.
  run.stop_again = again;
  book_.news.Note(RunNote{event.id, event.why});
}

void LiveStays::StopAgainWhatIsDue() {
  const Seconds now = book_.Now();
  for (const JobId id : book_.table.live) {
    JobEntry& job = book_.table.jobs.at(id);
    if (job.run && job.run->stop_again && now >= *job.run->stop_again) stops_.Send(*job.run);
  }
}

bool LiveStays::Owes() const {
  const Seconds now = book_.Now();
  return std::any_of(book_.table.live.begin(), book_.table.live.end(), [&](JobId id) {
    const JobEntry& job = book_.table.jobs.at(id);
    const bool may_stop = job.run && job.run->stays_until && now >= *job.run->stays_until;
    return may_stop || (job.run && !job.run->refused.empty());
  });
}

// Nobody of them has begun: starts wait until who leaves is gone.
void LiveStays::GiveUpStartsOn(const Attempt& run) {
  const std::string why = fmt::format("job {} was to leave its place for it, and does not: {}",
                                      run.request.id.job, run.refused);
  for (const JobId id : std::vector<JobId>(book_.table.starts)) {
    JobEntry& job = book_.table.jobs.at(id);
    if (!job.next || job.next->request.id.job == run.request.id.job) continue;
    const auto& to = job.next->gpus;
    const bool here = std::any_of(to.begin(), to.end(), [&](GpuId gpu) {
      return std::find(run.gpus.begin(), run.gpus.end(), gpu) != run.gpus.end();
    });
    if (here) starts_.GiveUpAndRequeue(id, job, why);
  }
}

void LiveStays::TakeBack(JobId id, JobEntry& job) {
  Attempt& run = *job.run;
  if (run.leaves != Why::kPlan || job.over) {  // somebody wants it gone for good meanwhile
    run.refused.clear();
    run.stays_until.reset();
    if (run.leaves && *run.leaves != Why::kFail) run.stop_again = book_.Now() + kStays;
    return;
  }
  run.leaves.reset();
  run.taken_back = true;
  job.work.GoOn(book_.Now());
  book_.news.Note(StopRefused{run.request.id, run.refused});
  if (!job.next) return;
  // It had been given another place: that attempt is never made, and its number not used again.
  std::erase(book_.table.starts, id);
  job.next.reset();
  book_.news.requeued.push_back(id);
  if (run.started) book_.news.Note(RunStarted{run.request.id});
}

void LiveStays::TakeBack() {
  for (const JobId id : book_.table.live) {
    JobEntry& job = book_.table.jobs.at(id);
    if (job.run && !job.run->refused.empty()) TakeBack(id, job);
  }
  std::vector<const Attempt*> staying;
  for (const JobId id : book_.table.live) {
    const JobEntry& job = book_.table.jobs.at(id);
    if (job.run && job.run->taken_back) staying.push_back(&*job.run);
  }
  for (const Attempt* run : staying) GiveUpStartsOn(*run);
  if (!staying.empty()) starts_.BeginWhatCan();
}

void LiveStays::Emit(Observation& out) {
  for (const JobId id : book_.table.live) {
    JobEntry& job = book_.table.jobs.at(id);
    if (!job.run) continue;
    Attempt& run = *job.run;
    if (std::exchange(run.taken_back, false)) {
      job.believed = true;
      run.refused.clear();
      out.stays.push_back({id, true, run.Place(), run.began.value_or(out.now)});
    } else if (run.stays_until && out.now >= *run.stays_until && run.refused.empty()) {
      run.stays_until.reset();
      if (job.believed) out.stays.push_back({id, false});
    }
  }
}

}  // namespace sharewell::engine
