#include "engine/live/live_engine.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/result.h"
#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::JobId;
using core::Seconds;

struct LiveEngine::Impl {
  Runner& runner;
  LiveRuns runs;
  std::vector<core::Job> inbox;    // submitted, not observed yet
  std::atomic<bool> woken{false};  // any thread

  // True: there was something in it, or somebody woke us.
  bool TakeInbox(Observation& out) {
    const bool any = !inbox.empty();
    for (core::Job& job : inbox) out.submitted.push_back(std::move(job));
    inbox.clear();
    return woken.exchange(false) || any;
  }
};

LiveEngine::LiveEngine(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus,
                       Runner& runner, const LiveOptions& options)
    : impl_(new Impl{runner, LiveRuns(cluster, std::move(gpus), runner, options), {}, {}}) {}

LiveEngine::~LiveEngine() = default;

bool LiveEngine::Observe(std::optional<Seconds> wake, Observation& out) {
  Impl& in = *impl_;
  out = {};
  out.news = false;
  for (bool ready = false; !ready;) {
    ready = in.TakeInbox(out) || in.runs.Owes();
    std::optional<Seconds> until = in.runs.NextDue();
    if (wake) until = until ? std::min(*until, *wake) : *wake;
    // What waits already does not keep us from hearing what happened meanwhile.
    if (ready) until = in.runner.Now();
    const bool more = in.runs.Wait(until);
    ready = in.TakeInbox(out) || ready;
    out.now = in.runner.Now();
    out.news = in.runs.TellProfiled(out) || ready || in.runs.Owes();
    ready = out.news || (wake && out.now >= *wake);
    if (!ready && !more) return false;
  }
  in.runs.TakeBackStaying();
  in.runs.TellEnds(out);
  in.runs.TellStaying(out);
  in.runs.TellProgress(out);
  in.runs.TellPaused(out);
  return true;
}

void LiveEngine::Apply(const core::Plan& plan, Observation& out) {
  LiveRuns& runs = impl_->runs;
  const auto poll = [&] { runs.Wait(impl_->runner.Now()); };
  // What has ended by itself until now was not stopped by this plan.
  if (!plan.stops.empty() || !plan.moves.empty()) poll();
  runs.TakeTouched();
  for (const auto& stop : plan.stops) {
    stop.pause ? runs.PauseByPlan(stop.job) : runs.StopByPlan(stop.job);
    if (core::IsEviction(stop)) runs.CountEviction(stop.job);
  }
  for (const auto& move : plan.moves) runs.LeaveByPlan(move.job);
  if (runs.TakeTouched()) poll();  // what is gone at once need not be waited for
  for (const auto& move : plan.moves) runs.ArriveByPlan(move.job, move.to);
  for (const auto& resize : plan.resizes) runs.Resize(resize.job, resize.cores);
  for (const auto& throttle : plan.throttles) runs.Throttle(throttle.job, throttle.share);
  for (const auto& start : plan.starts) runs.Start(start.job, start.to, start.profile);
  for (const JobId id : plan.infeasible) runs.Drop(id);
  if (runs.TakeTouched() || !plan.stops.empty()) poll();
  out = {};
  out.now = impl_->runner.Now();
  runs.TellProgress(out);
}

void LiveEngine::Submit(core::Job job, RunRequest request) {
  impl_->runs.Know(job, std::move(request));
  impl_->inbox.push_back(std::move(job));
}

void LiveEngine::Wake() {
  impl_->woken = true;
  impl_->runner.Wake();
}

void LiveEngine::Withdraw(JobId job) { impl_->runs.Withdraw(job); }
void LiveEngine::Cancel(JobId job) { impl_->runs.Cancel(job); }
void LiveEngine::Requeue(JobId job) { impl_->runs.Requeue(job); }

void LiveEngine::Adopt(JobId job, const RunRequest& run, RunRequest next) {
  impl_->runs.Adopt(job, run, std::move(next));
}

void LiveEngine::SetPace(JobId job, const LonePace& pace) { impl_->runs.SetPace(job, pace); }
void LiveEngine::SetTimeLimit(JobId job, core::Seconds limit) {
  impl_->runs.SetTimeLimit(job, limit);
}
void LiveEngine::SetGpuMemory(JobId job, std::optional<core::Bytes> memory) {
  impl_->runs.SetGpuMemory(job, memory);
}
void LiveEngine::Pause(JobId job) { impl_->runs.Pause(job); }
void LiveEngine::Park(JobId job) { impl_->runs.Park(job); }
void LiveEngine::ParkFound(const RunRequest& run, RunRequest next) {
  impl_->runs.ParkFound(run, std::move(next));
}
bool LiveEngine::CancelParked(std::int64_t number) { return impl_->runs.CancelParked(number); }
void LiveEngine::ResumeFound(JobId job) { impl_->runs.ResumeFound(job); }
void LiveEngine::AddNode(const RunnerNode& node) { impl_->runs.AddNode(node); }

void LiveEngine::MarkStaying(std::vector<bool>& stays) const { impl_->runs.MarkStaying(stays); }

void LiveEngine::Renumber(const core::Renumbering& ids) {
  SHAREWELL_CHECK(impl_->inbox.empty());
  impl_->runs.Renumber(ids);
}

std::vector<Ended> LiveEngine::TakeEnded() { return impl_->runs.TakeEnded(); }
std::vector<RunEvent> LiveEngine::TakeNotes() { return impl_->runs.TakeNotes(); }

bool LiveEngine::IsBeingLeft(const std::vector<core::GpuId>& gpus) const {
  return impl_->runs.IsBeingLeft(gpus);
}

std::optional<double> LiveEngine::StepsOf(JobId job) const { return impl_->runs.StepsOf(job); }

std::optional<core::Seconds> LiveEngine::StepsToldAt(JobId job) const {
  return impl_->runs.StepsToldAt(job);
}

}  // namespace sharewell::engine
