#include "engine/live/live_pauses.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/live/run_outcome.h"

namespace sharewell::engine {

using core::JobId;
using core::Seconds;
using Paused = Attempt::Paused;

namespace {

// After a resume that was refused, and twice that after each further one.
constexpr Seconds kPauseAgain(1);
constexpr Seconds kPauseAgainMost(60);

}  // namespace

void LivePauses::SetGpuMemory(JobId id, std::optional<core::Bytes> memory) {
  if (JobEntry* job = book_.table.Find(id)) job->gpu_memory = memory;
}

void LivePauses::Begin(JobId id, JobEntry& job, bool asked) {
  job.work.Rest(book_.Now());
  job.work.Disturb();
  job.run->paused = Paused::kPausing;
  job.run->asked_to_pause = asked;
  book_.touched = true;
  PauseRefused refused{job.run->request.id};
  if (job.run->request.shares) {
    refused.why =
        "it shares its GPU through MPS, whose clients the driver cannot pause; submit it with "
        "--exclusive to have it alone on its GPU";
  } else if (book_.options.pauser == nullptr) {
    refused.why = kNoPauser;
  } else {
    return book_.options.pauser->Pause(refused.id, job.gpu_memory);
  }
  Refuse(id, job, refused);
}

void LivePauses::PauseByPlan(JobId id) {
  JobEntry& job = book_.table.jobs[id];
  const bool back = job.run && job.run->wanted_back;
  if (back) {  // it has not begun again
    job.run->wanted_back = false;
    std::erase(book_.table.starts, id);
  } else if (!job.next && job.Runs() && (job.run->started || !job.run->began)) {
    Begin(id, job, false);
  } else {
    if (!job.IsPaused()) {
      // It has not begun, or leaves already: from now on because of the plan.
      book_.news.paused.push_back({id, std::nullopt});
      return stops_.StopByPlan(id);
    }
    job.run->asked_to_pause = false;  // a plan, too: it is under way
  }
  std::erase(book_.news.requeued, id);
  job.believed = false;
}

void LivePauses::Pause(JobId id) {
  JobEntry* job = book_.table.Find(id);
  if (job != nullptr && !job->over && job->Runs()) Begin(id, *job, true);
}

void LivePauses::Refuse(JobId id, JobEntry& job, const PauseRefused& event) {
  Attempt& run = *job.run;
  run.paused = Paused::kNo;
  job.work.SetFresh();
  if (run.asked_to_pause) return book_.news.Note(event);
  if (std::exchange(run.wanted_back, false)) {
    // It is wanted again already, and was never away.
    std::erase(book_.table.starts, id);
    return book_.news.Note(RunResumed{event.id});
  }
  // The plan gave its place to others: it is stopped as where nothing can be paused.
  book_.news.paused.push_back({id, std::nullopt});
  book_.news.Note(event);
  if (!run.leaves) stops_.Leave(job, Attempt::Why::kPlan);
}

void LivePauses::ResumeFound(JobId id) {
  JobEntry& job = book_.table.jobs.at(id);
  job.run->paused = Paused::kResuming;
  book_.options.pauser->Resume(job.run->request.id);
}

JobEntry* LivePauses::InState(RunId id, Paused state) {
  JobEntry* job = book_.table.OfRun(id);  // null: it has ended, or is parked
  return job != nullptr && job->run->paused == state ? job : nullptr;
}

void LivePauses::Handle(const PauseRefused& event) {
  JobEntry* job = InState(event.id, Paused::kPausing);
  if (job != nullptr) Refuse(book_.table.runs.at(event.id), *job, event);
}

void LivePauses::Handle(const RunPaused& event) {
  JobEntry* job = InState(event.id, Paused::kPausing);
  if (job == nullptr) return;
  job->run->paused = Paused::kPaused;
  book_.table.Leave(book_.table.runs.at(event.id), *job->run);
  book_.news.Note(event);
  starts_.BeginWhatCan();
}

void LivePauses::Handle(const RunResumed& event) {
  JobEntry* job = InState(event.id, Paused::kResuming);
  if (job == nullptr) return;
  job->run->paused = Paused::kNo;
  job->refusals = 0;
  job->work.SetDue();
  book_.news.Note(event);
}

void LivePauses::Handle(const ResumeRefused& event) {
  JobEntry* job = InState(event.id, Paused::kResuming);
  if (job == nullptr) return;
  const JobId id = book_.table.runs.at(event.id);
  Attempt& run = *job->run;
  run.paused = Paused::kPaused;
  book_.table.Leave(id, run);
  book_.news.Note(event);
  if (run.leaves) return;
  job->not_before =
      book_.Now() + std::min(kPauseAgain * std::exp2(job->refusals++), kPauseAgainMost);
  book_.news.requeued.push_back(id);
  book_.news.paused.push_back({id, run.Place()});
  starts_.BeginWhatCan();
}

void LivePauses::Park(JobId id) {
  JobEntry& job = book_.table.jobs.at(id);
  if (!job.IsPaused()) return stops_.Withdraw(id);  // its process has ended meanwhile
  book_.table.runs.erase(job.run->request.id);
  book_.table.live.erase(id);
  std::erase_if(book_.news.paused, [&](const PausedJob& one) { return one.job == id; });
  std::erase(book_.news.requeued, id);
  JobEntry parked = job;
  parked.run->wanted_back = parked.run->asked_to_pause = false;
  parked.believed = false;
  book_.table.parked[job.request.id.job] = std::move(parked);
  job.run.reset();
  stops_.EndJob(id, job, book_.news.failed);
}

void LivePauses::ParkFound(const RunRequest& request, RunRequest next) {
  JobEntry& job = book_.table.parked[request.id.job];
  job.exclusive = true;
  job.request = std::move(next);
  Attempt run;
  run.request = request;
  run.started = true;
  run.paused = Paused::kPaused;
  run.gpus = book_.nodes.GpusOf(request);
  job.run = std::move(run);
}

void LivePauses::Unpark(std::int64_t number, JobId id) {
  LiveTable& table = book_.table;
  const auto found = table.parked.find(number);
  if (found == table.parked.end() || found->second.run->leaves) return;
  JobEntry& job = table.jobs[id];
  job = std::move(found->second);
  table.parked.erase(found);
  table.runs[job.run->request.id] = id;
  table.live.insert(id);
  book_.news.paused.push_back({id, job.run->Place()});
}

bool LivePauses::CancelParked(std::int64_t number) {
  const auto found = book_.table.parked.find(number);
  if (found == book_.table.parked.end()) return false;
  found->second.run->leaves = Attempt::Why::kFail;
  stops_.Send(*found->second.run);
  return true;
}

bool LivePauses::IsParked(RunId id) const {
  const auto found = book_.table.parked.find(id.job);
  return found != book_.table.parked.end() && found->second.run->request.id == id;
}

bool LivePauses::EndParked(const RunEnded& event) {
  if (!IsParked(event.id)) return false;
  const auto found = book_.table.parked.find(event.id.job);
  book_.news.EndBesideTheLoop(
      {JobId(), event.id, event.end, OutcomeOf(found->second, event.end, book_.options.most_ooms)});
  book_.table.parked.erase(found);
  return true;
}

void LivePauses::Emit(Observation& out) {
  // One that is told here after it was submitted and withdrawn is not in the queue any more.
  for (PausedJob& paused : std::exchange(book_.news.paused, {})) {
    out.paused.push_back(std::move(paused));
  }
}

}  // namespace sharewell::engine
