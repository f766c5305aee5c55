#include "engine/live/live_stops.h"

#include <utility>
#include <vector>

namespace sharewell::engine {

using core::JobId;
using Why = Attempt::Why;

void LiveStops::Leave(JobEntry& job, Why why) {
  if (job.run->leaves) {
    // Whoever gave it up for good is not overruled.
    if (*job.run->leaves == Why::kFail) return;
    job.run->leaves = why;
    if (why == Why::kFail) Send(*job.run);
    return;
  }
  job.work.Rest(book_.Now());
  job.run->leaves = why;
  Send(*job.run);
}

void LiveStops::Send(Attempt& run) {
  book_.touched = true;
  run.was_told = true;
  run.stop_again.reset();
  book_.runner.Stop(run.request.id, {book_.options.grace, run.leaves == Why::kFail});
}

void LiveStops::LeaveByPlan(JobId id) {
  JobEntry& job = book_.table.jobs[id];
  if (job.next) starts_.GiveUp(id, job, Outcome::kRequeued);
  if (job.run) Leave(job, Why::kPlan);
  std::erase(book_.news.requeued, id);  // the plan says where it goes
}

void LiveStops::StopByPlan(JobId id) {
  LeaveByPlan(id);
  book_.table.jobs[id].believed = false;
}

void LiveStops::Drop(JobId id) {
  book_.table.jobs[id].over = true;
  book_.table.known_over.push_back(id);
}

void LiveStops::Withdraw(JobId id) {
  JobEntry& job = book_.table.jobs[id];
  if (job.believed || job.IsPaused()) return Cancel(id);
  EndJob(id, job, book_.news.failed);  // what is left of its last attempt leaves as it was told to
}

void LiveStops::Cancel(JobId id) {
  JobEntry* job = book_.table.Find(id);
  if (job == nullptr || job->over) return;
  if (job->run) {
    // The end of what runs is its end: what was to come after is not spoken of.
    std::erase(book_.table.starts, id);
    job->next.reset();
    return Leave(*job, Why::kFail);
  }
  if (job->next) starts_.GiveUp(id, *job, Outcome::kFailed);
  EndJob(id, *job, book_.news.failed);
}

void LiveStops::Requeue(JobId id) {
  JobEntry* job = book_.table.Find(id);
  if (job == nullptr || job->over || !job->believed) return;
  if (job->next) {
    starts_.GiveUpAndRequeue(id, *job);
  } else if (job->Runs() || job->IsPaused()) {
    job->run->wanted_back = false;
    std::erase(book_.table.starts, id);
    Leave(*job, Why::kRequeue);
  }
}

void LiveStops::LeaveUnusable() {
  const auto usable = [&](const Attempt& run) { return book_.nodes.AreUp(run.gpus, run.node); };
  for (const JobId id : std::vector<JobId>(book_.table.live.begin(), book_.table.live.end())) {
    JobEntry& job = book_.table.jobs.at(id);
    if (job.next && !usable(*job.next)) starts_.GiveUpAndRequeue(id, job);
    if ((job.Runs() || job.IsPaused()) && !usable(*job.run)) {
      Leave(job, job.run->request.asked.requeue ? Why::kRequeue : Why::kFail);
    }
  }
}

void LiveStops::EndJob(JobId id, JobEntry& job, std::vector<JobId>& told) {
  std::erase(book_.table.starts, id);
  job.next.reset();
  if (!std::exchange(job.over, true)) told.push_back(id);
}

}  // namespace sharewell::engine
