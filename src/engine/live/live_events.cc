// What the runner tells, what it means for the queue, and what the loop hears of it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::GpuId;
using core::JobId;
using core::Seconds;

namespace {

// Each turn costs a decision, so progress alone makes one only when it says something.
constexpr double kWorthTelling = 0.05;
constexpr Seconds kTellEvery(5);
// After a start that was refused, and twice that after each further one.
constexpr Seconds kTryAgain(1);
constexpr Seconds kTryAgainMost(60);

// What passed before its first steps were told, less what those take alone: they may come in lots.
// A checkpoint may be older than the last step that was told.
Seconds StartUp(Seconds passed, double steps, std::optional<double> steps_alone) {
  if (!steps_alone || *steps_alone <= 0) return passed;
  return std::max(passed - Seconds(std::max(steps, 0.0) / *steps_alone), Seconds(0));
}

}  // namespace

bool LiveRuns::Wait(std::optional<Seconds> until) {
  std::vector<RunEvent> events;
  const bool more = runner_.Wait(until, events);
  for (const RunEvent& event : events) {
    std::visit([this](const auto& one) { Handle(one); }, event);
  }
  StopAgainWhatIsDue();
  if (!starts_.empty()) BeginWhatCan();  // one that was refused may have waited for long enough
  return more;
}

void LiveRuns::Note(RunEvent event) {
  notes_.push_back(std::move(event));
  news_ = true;
}

void LiveRuns::Handle(const RunStarted& event) {
  const auto found = runs_.find(event.id);
  if (found == runs_.end()) return;  // it has ended: this comes late
  Entry& job = jobs_.at(found->second);
  if (std::exchange(job.run->started, true)) return;
  job.refusals = job.refused_stops = 0;
  if (event.cores > 0) job.run->request.cores = event.cores;
  Note(event);
}

void LiveRuns::Handle(const StartRefused& event) {
  const auto found = runs_.find(event.id);
  if (found == runs_.end() || jobs_.at(found->second).run->started) return;
  RunEnd end;
  end.refused = true;
  end.message = event.why;
  Handle(RunEnded{event.id, std::move(end)});
}

void LiveRuns::Handle(const RunProgress& event) {
  const auto found = runs_.find(event.id);
  if (found == runs_.end() || !std::isfinite(event.steps) || event.steps < 0) return;
  Entry& job = jobs_.at(found->second);
  Seconds at = runner_.Now() - std::max(event.age, Seconds(0));
  if (job.steps) at = std::max(at, job.steps_at);
  if (!job.steps && job.run->began) {
    at = std::max(at, *job.run->began);
    job.startup += StartUp(at - *job.run->began, event.steps - job.steps_before, job.pace.steps);
  }
  job.steps = event.steps;
  job.steps_at = at;
  job.window.Tell(at, event.steps);
  if (!job.Runs()) return;
  Reckon(job, true);
  job.fresh = true;
  if (std::abs(job.rate - job.told_rate) > kWorthTelling * job.told_rate ||
      runner_.Now() - job.told_at >= kTellEvery) {
    job.due = true;
  }
}

Outcome LiveRuns::OutcomeOf(const Entry& job, const RunEnd& end) const {
  const RunRequest& request = job.run->request;
  const bool well = end.exit_code == 0 && end.signal == 0 && !end.refused && !end.lost;
  if (job.run->leaves) {
    // It came to its own end before it could be told to.
    if (well && !end.stopped && !end.timed_out) return Outcome::kFinished;
    // Told to end, it may have saved its work and left with any code, 0 among them. One whose time
    // was over before somebody wanted it back in the queue (a server that came up meanwhile) is
    // over. So is an interactive one: nobody would sit at its next terminal.
    const bool over =
        request.asked.terminal || (*job.run->leaves == Why::kRequeue && end.timed_out);
    return over || *job.run->leaves == Why::kFail ? Outcome::kFailed : Outcome::kRequeued;
  }
  if (end.refused) return Outcome::kRequeued;
  // It was not to leave any more, and the manager had heard otherwise.
  if (end.stopped && job.run->was_told && !request.asked.terminal) return Outcome::kRequeued;
  // By a server before this one, or as the machine was shut down: it may have saved its work.
  if (end.lost || end.stopped) return request.asked.requeue ? Outcome::kRequeued : Outcome::kFailed;
  if (end.timed_out) return Outcome::kFailed;
  if (well) return Outcome::kFinished;
  // The next run tells whose doing it was: it has the GPU for itself, unless it is known to be
  // innocent.
  if (end.fall && request.asked.requeue && !request.asked.terminal) return Outcome::kRequeued;
  // A job that is kept alone though its user did not ask for it ran out in an earlier life.
  const bool before = job.exclusive && !request.asked.exclusive;
  const int ooms = std::max(job.ooms, before ? 1 : 0);
  const bool again = end.out_of_memory && ooms < options_.most_ooms && !request.asked.terminal;
  return again ? Outcome::kOutOfMemory : Outcome::kFailed;
}

void LiveRuns::Over(JobId id, Entry& job, std::vector<JobId>& told) {
  // What was to begin after it does not.
  std::erase(starts_, id);
  job.next.reset();
  if (!std::exchange(job.over, true)) told.push_back(id);
}

void LiveRuns::Handle(const RunEnded& event) {
  const auto found = runs_.find(event.id);
  if (found == runs_.end()) {  // no run of ours, or of a job that the loop does not have
    EndParked(event);
    return;
  }
  const JobId id = found->second;
  runs_.erase(found);
  Entry& job = jobs_.at(id);
  const Outcome outcome = OutcomeOf(job, event.end);
  // The loop believes that it goes on from where it was.
  const bool waited = job.run->paused == Paused::kPaused || job.run->paused == Paused::kPausing;
  if (waited && !job.believed) paused_.push_back({id, std::nullopt});
  std::erase_if(starts_, [&](JobId other) { return other == id && job.run->wanted_back; });
  const Run run = std::move(*job.run);
  job.run.reset();
  const Seconds now = runner_.Now();
  job.attained += (now - job.settled) * std::exchange(job.rate, 0.0);
  job.settled = now;
  if (event.end.refused) {
    job.attained = run.attained;  // what it was believed to do, it did not
    job.not_before = now + std::min(kTryAgain * std::exp2(job.refusals++), kTryAgainMost);
  }
  for (const GpuId gpu : run.gpus) std::erase(on_gpu_[gpu.index()], id);
  ResidentsChanged(run.gpus);
  ended_.push_back({id, run.request.id, event.end, outcome, false});
  if (run.request.asked.terminal && outcome == Outcome::kFailed && run.leaves &&
      *run.leaves != Why::kFail) {
    ended_.back().end.message =
        "it had to leave its place, and an interactive job is not started again";
  }
  switch (outcome) {
    case Outcome::kFinished:
      Over(id, job, finished_);
      break;
    case Outcome::kFailed:
      Over(id, job, failed_);
      break;
    case Outcome::kOutOfMemory:
      out_of_memory_.push_back(id);
      break;
    case Outcome::kRequeued:
      if (run.leaves != Why::kPlan || run.wanted_back) requeued_.push_back(id);
      break;
  }
  if (!job.next) live_.erase(id);
  BeginWhatCan();
}

void LiveRuns::TellProgress(Observation& out) {
  news_ = false;  // notes are taken when the turn is over, those of its plan too
  for (const JobId id : live_) {
    Entry& job = jobs_.at(id);
    if (!job.fresh || !job.Runs()) continue;
    Reckon(job, false);
    out.progress.push_back({id, job.attained, job.rate, job.startup});
    job.told_at = out.now;
    job.told_rate = job.rate;
    job.fresh = job.due = false;
  }
}

bool LiveRuns::TellProfiled(Observation& out) {
  const Seconds now = runner_.Now();
  for (const JobId id : live_) {
    Entry& job = jobs_.at(id);
    if (!job.Runs() || !job.run->profiled_at || *job.run->profiled_at > now) continue;
    job.run->profiled_at.reset();
    out.profiled.push_back(id);
  }
  return !out.profiled.empty();
}

void LiveRuns::TellEnds(Observation& out) {
  // What was submitted and withdrawn at once is told in two turns.
  for (const JobId id : std::exchange(failed_, {})) {
    const bool news = std::any_of(out.submitted.begin(), out.submitted.end(),
                                  [&](const core::Job& job) { return job.id == id; });
    (news ? failed_ : out.failed).push_back(id);
  }
  out.finished = std::exchange(finished_, {});
  for (const JobId id : std::exchange(out_of_memory_, {})) {
    Entry& job = jobs_.at(id);
    if (!job.believed || job.over) continue;  // the loop has it in the queue already
    ++job.ooms;
    out.out_of_memory.push_back(id);
  }
  for (const JobId id : std::exchange(requeued_, {})) {
    const Entry& job = jobs_.at(id);
    if (job.believed && !job.over) out.requeued.push_back(id);
  }
  for (auto* told : {&out.finished, &out.failed, &out.out_of_memory, &out.requeued}) {
    std::sort(told->begin(), told->end());
    told->erase(std::unique(told->begin(), told->end()), told->end());
    for (const JobId id : *told) jobs_.at(id).believed = false;
  }
  ForgetOver();
  for (const auto* told : {&out.finished, &out.failed}) {
    known_over_.insert(known_over_.end(), told->begin(), told->end());
  }
}

void LiveRuns::ForgetOver() {
  std::erase_if(known_over_, [&](JobId id) {
    const bool told =
        std::none_of(ended_.begin(), ended_.end(), [&](const Ended& end) { return end.job == id; });
    if (!told || live_.contains(id)) return false;  // its last process is still on its way out
    jobs_.erase(id);
    return true;
  });
}

}  // namespace sharewell::engine
