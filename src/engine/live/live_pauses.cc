// Jobs whose process waits while they do: its GPUs are free once the runner has said so, and it
// goes on there with the next start.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::GpuId;
using core::JobId;
using core::Seconds;

namespace {

// After a resume that was refused, and twice that after each further one.
constexpr Seconds kPauseAgain(1);
constexpr Seconds kPauseAgainMost(60);

}  // namespace

void LiveRuns::SetGpuMemory(JobId id, std::optional<core::Bytes> memory) {
  if (const auto found = jobs_.find(id); found != jobs_.end()) found->second.gpu_memory = memory;
}

core::Allocation LiveRuns::PlaceOf(const Run& run) const {
  core::Allocation place;
  place.gpus = run.gpus;
  place.node = run.node;
  place.cores = run.request.cores;
  place.sm_share = run.request.thread_share.value_or(1);
  return place;
}

void LiveRuns::LeaveGpus(JobId id, const Run& run) {
  for (const GpuId gpu : run.gpus) std::erase(on_gpu_[gpu.index()], id);
  ResidentsChanged(run.gpus);
}

void LiveRuns::BeginPause(JobId id, Entry& job, bool asked) {
  const Seconds now = runner_.Now();
  job.attained += (now - job.settled) * std::exchange(job.rate, 0.0);
  job.settled = now;
  job.window.Clear();
  job.run->paused = Paused::kPausing;
  job.run->asked_to_pause = asked;
  touched_ = true;
  PauseRefused refused{job.run->request.id};
  if (job.run->request.shares) {
    refused.why =
        "it shares its GPU through MPS, whose clients the driver cannot pause; submit it with "
        "--exclusive to have it alone on its GPU";
  } else if (options_.pauser == nullptr) {
    refused.why = kNoPauser;
  } else {
    return options_.pauser->Pause(refused.id, job.gpu_memory);
  }
  RefusePause(id, job, refused);
}

void LiveRuns::PauseByPlan(JobId id) {
  Entry& job = jobs_[id];
  const bool back = job.run && job.run->wanted_back;
  if (back) {  // it has not begun again
    job.run->wanted_back = false;
    std::erase(starts_, id);
  } else if (!job.next && job.Runs() && (job.run->started || !job.run->began)) {
    BeginPause(id, job, false);
  } else {
    if (!job.IsPaused()) paused_.push_back({id, std::nullopt});
    if (job.next || job.Runs()) return StopByPlan(id);
    if (job.run) job.run->asked_to_pause = false;  // a plan, too: it is under way
  }
  std::erase(requeued_, id);
  jobs_[id].believed = false;
}

void LiveRuns::Pause(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.over || !found->second.Runs()) return;
  BeginPause(id, found->second, true);
}

void LiveRuns::RefusePause(JobId id, Entry& job, const PauseRefused& event) {
  Run& run = *job.run;
  run.paused = Paused::kNo;
  job.fresh = true;
  if (run.asked_to_pause) return Note(event);
  if (std::exchange(run.wanted_back, false)) {
    // It is wanted again already, and was never away.
    std::erase(starts_, id);
    return Note(RunResumed{event.id});
  }
  // The plan gave its place to others: it is stopped as where nothing can be paused.
  paused_.push_back({id, std::nullopt});
  Note(event);
  if (!run.leaves) Leave(job, Why::kPlan);
}

void LiveRuns::BeginResume(JobId id, Entry& job) {
  Run& run = *job.run;
  run.wanted_back = false;
  run.paused = Paused::kResuming;
  for (const GpuId gpu : run.gpus) on_gpu_[gpu.index()].push_back(id);
  ResidentsChanged(run.gpus);
  job.window.Clear();
  job.settled = runner_.Now();
  job.rate = 0;
  job.fresh = job.due = true;
  touched_ = true;
  options_.pauser->Resume(run.request.id);
}

void LiveRuns::ResumeFound(JobId id) {
  Entry& job = jobs_.at(id);
  job.run->paused = Paused::kResuming;
  options_.pauser->Resume(job.run->request.id);
}

LiveRuns::Entry* LiveRuns::InState(RunId id, Paused state) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return nullptr;  // it has ended, or is parked
  Entry& job = jobs_.at(found->second);
  return job.run->paused == state ? &job : nullptr;
}

void LiveRuns::Handle(const PauseRefused& event) {
  if (Entry* job = InState(event.id, Paused::kPausing))
    RefusePause(runs_.at(event.id), *job, event);
}

void LiveRuns::Handle(const RunPaused& event) {
  Entry* job = InState(event.id, Paused::kPausing);
  if (job == nullptr) return;
  job->run->paused = Paused::kPaused;
  LeaveGpus(runs_.at(event.id), *job->run);
  Note(event);
  BeginWhatCan();
}

void LiveRuns::Handle(const RunResumed& event) {
  Entry* job = InState(event.id, Paused::kResuming);
  if (job == nullptr) return;
  job->run->paused = Paused::kNo;
  job->refusals = 0;
  job->fresh = job->due = true;
  Note(event);
}

void LiveRuns::Handle(const ResumeRefused& event) {
  Entry* job = InState(event.id, Paused::kResuming);
  if (job == nullptr) return;
  const JobId id = runs_.at(event.id);
  Run& run = *job->run;
  run.paused = Paused::kPaused;
  LeaveGpus(id, run);
  Note(event);
  if (run.leaves) return;
  job->not_before =
      runner_.Now() + std::min(kPauseAgain * std::exp2(job->refusals++), kPauseAgainMost);
  requeued_.push_back(id);
  paused_.push_back({id, PlaceOf(run)});
  BeginWhatCan();
}

void LiveRuns::Park(JobId id) {
  Entry& job = jobs_.at(id);
  if (!job.IsPaused()) return Withdraw(id);  // its process has ended meanwhile
  std::erase(starts_, id);
  runs_.erase(job.run->request.id);
  live_.erase(id);
  std::erase_if(paused_, [&](const PausedJob& one) { return one.job == id; });
  std::erase(requeued_, id);
  Entry parked = job;
  parked.run->wanted_back = parked.run->asked_to_pause = false;
  parked.believed = false;
  parked_[job.request.id.job] = std::move(parked);
  job.run.reset();
  Over(id, job, failed_);
}

void LiveRuns::ParkFound(const RunRequest& request, RunRequest next) {
  Entry& job = parked_[request.id.job];
  job.exclusive = true;
  job.request = std::move(next);
  Run run;
  run.request = request;
  run.started = true;
  run.paused = Paused::kPaused;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (std::find(request.gpus.begin(), request.gpus.end(), gpus_[i]) != request.gpus.end()) {
      run.gpus.emplace_back(i);
    }
  }
  job.run = std::move(run);
  job.settled = runner_.Now();
}

bool LiveRuns::CancelParked(std::int64_t number) {
  const auto found = parked_.find(number);
  if (found == parked_.end()) return false;
  found->second.run->leaves = Why::kFail;
  SendStop(*found->second.run);
  return true;
}

bool LiveRuns::EndParked(const RunEnded& event) {
  const auto found = parked_.find(event.id.job);
  if (found == parked_.end() || found->second.run->request.id != event.id) return false;
  ended_.push_back({JobId(), event.id, event.end, OutcomeOf(found->second, event.end)});
  parked_.erase(found);
  news_ = true;  // a turn takes it to the records
  return true;
}

void LiveRuns::TellPaused(Observation& out) {
  // One that is told here after it was submitted and withdrawn is not in the queue any more.
  for (PausedJob& paused : std::exchange(paused_, {})) out.paused.push_back(std::move(paused));
}

}  // namespace sharewell::engine
