#include "engine/live/live_hearing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/live/run_outcome.h"

namespace sharewell::engine {

using core::JobId;
using core::Seconds;

namespace {

// After a start that was refused, and twice that after each further one.
constexpr Seconds kTryAgain(1);
constexpr Seconds kTryAgainMost(60);

}  // namespace

void LiveHearing::Handle(const RunStarted& event) {
  JobEntry* job = book_.table.OfRun(event.id);
  if (job == nullptr) return;  // it has ended: this comes late
  if (std::exchange(job->run->started, true)) return;
  job->refusals = job->refused_stops = 0;
  if (event.cores > 0) job->run->request.cores = event.cores;
  book_.news.Note(event);
}

void LiveHearing::Handle(const StartRefused& event) {
  const JobEntry* job = book_.table.OfRun(event.id);
  if (job == nullptr || job->run->started) return;
  RunEnd end;
  end.refused = true;
  end.message = event.why;
  Handle(RunEnded{event.id, std::move(end)});
}

void LiveHearing::Handle(const RunProgress& event) {
  JobEntry* job = book_.table.OfRun(event.id);
  if (job == nullptr || !std::isfinite(event.steps) || event.steps < 0) return;
  const Seconds now = book_.Now();
  job->work.Hear(event.steps, now - std::max(event.age, Seconds(0)), now, job->run->began,
                 job->Runs());
  job->work.SetByWatcher(event.by_watcher);
}

void LiveHearing::Handle(const RunMetrics& event) {
  if (JobEntry* job = book_.table.OfRun(event.id)) job->metrics = event.metrics;
}

void LiveHearing::Handle(const RunEnded& event) {
  LiveTable& table = book_.table;
  const auto found = table.runs.find(event.id);
  if (found == table.runs.end()) {  // no run of ours, or of a job that the loop does not have
    pauses_.EndParked(event);
    return;
  }
  const JobId id = found->second;
  table.runs.erase(found);
  JobEntry& job = table.jobs.at(id);
  const Outcome outcome = OutcomeOf(job, event.end, book_.options.most_ooms);
  // The loop believes that it goes on from where it was.
  if (job.run->Waits() && !job.believed) book_.news.paused.push_back({id, std::nullopt});
  if (job.run->wanted_back) std::erase(table.starts, id);
  const Attempt run = std::move(*job.run);
  job.run.reset();
  job.was_guest = run.request.guest_memory;
  const Seconds now = book_.Now();
  job.work.Rest(now);
  if (event.end.refused) {
    job.work.Undo(run.attained);
    job.not_before = now + std::min(kTryAgain * std::exp2(job.refusals++), kTryAgainMost);
  }
  table.Leave(id, run);
  EmitEnd(id, job, run, outcome, event.end);
  if (!job.next) table.live.erase(id);
  starts_.BeginWhatCan();
}

void LiveHearing::EmitEnd(JobId id, JobEntry& job, const Attempt& run, Outcome outcome,
                          const RunEnd& end) {
  LiveNews& news = book_.news;
  news.ended.push_back({id, run.request.id, end, outcome, false});
  if (run.request.asked.terminal && outcome == Outcome::kFailed && run.leaves &&
      *run.leaves != Attempt::Why::kFail) {
    news.ended.back().end.message =
        "it had to leave its place, and an interactive job is not started again";
  }
  switch (outcome) {
    case Outcome::kFinished:
      stops_.EndJob(id, job, news.finished);
      break;
    case Outcome::kFailed:
      stops_.EndJob(id, job, news.failed);
      break;
    case Outcome::kOutOfMemory:
      news.out_of_memory.push_back(id);
      break;
    case Outcome::kRequeued:
      if (run.leaves != Attempt::Why::kPlan || run.wanted_back) news.requeued.push_back(id);
      break;
  }
}

void LiveHearing::Handle(const GpuLost& event) {
  book_.nodes.LoseGpu(event.gpu);
  stops_.LeaveUnusable();
  book_.news.Note(event);
}

void LiveHearing::Handle(const GpuBack& event) {
  book_.nodes.ReturnGpu(event.gpu);
  book_.news.Note(event);
}

void LiveHearing::Handle(const NodeWent& event) {
  // One that came and went before anybody took it in is not spoken of.
  if (book_.nodes.EndOffer(event.node)) book_.news.DropOffer(event.node);
  if (!book_.nodes.Go(event.node)) return;
  stops_.LeaveUnusable();
  book_.news.Note(event);
}

void LiveHearing::Handle(const NodeCame& event) {
  if (book_.nodes.Come(event.node)) book_.news.Note(event);
}

void LiveHearing::Compare(RunId id, Attempt& run, const RunsListed::Item* listed) {
  if (listed == nullptr) {
    RunEnd end;
    end.lost = run.started;
    end.refused = !run.started;
    end.message = run.started ? "nobody knows how it ended" : "its start never arrived";
    Handle(RunEnded{id, std::move(end)});
  } else if (listed->end) {
    Handle(RunEnded{id, *listed->end});
  } else {
    if (listed->started) Handle(RunStarted{id});
    if (run.leaves && run.refused.empty()) stops_.Send(run);  // again: it may not have arrived
  }
}

void LiveHearing::Handle(const RunsListed& list) {
  std::map<RunId, const RunsListed::Item*> there;
  for (const RunsListed::Item& item : list.runs) there[item.id] = &item;
  for (const auto& [run_id, id] : std::map<RunId, JobId>(book_.table.runs)) {
    Attempt& run = *book_.table.jobs.at(id).run;
    if (run.began && *run.began >= list.as_of) continue;  // it was started after that
    const auto found = there.find(run_id);
    Compare(run_id, run, found == there.end() ? nullptr : found->second);
  }
  for (const RunsListed::Item& item : list.runs) {
    const bool known = book_.table.runs.contains(item.id) || pauses_.IsParked(item.id);
    if (!item.end && !known) book_.runner.Stop(item.id, {book_.options.grace, true});  // nobody's
  }
  if (listed_ && list.as_of <= *listed_) return;  // older: nodes may have come or gone since
  listed_ = list.as_of;
  for (const std::string& name : book_.nodes.UpExcept(list.nodes)) {
    Handle(NodeWent{name, "it is not among the nodes that are up"});
  }
  for (const RunnerNode& node : list.nodes) Handle(NodeCame{node});
}

}  // namespace sharewell::engine
