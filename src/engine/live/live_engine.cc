#include "engine/live/live_engine.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/result.h"
#include "engine/live/live_book.h"
#include "engine/live/live_hearing.h"
#include "engine/live/live_pauses.h"
#include "engine/live/live_starts.h"
#include "engine/live/live_stays.h"
#include "engine/live/live_stops.h"

namespace sharewell::engine {

using core::JobId;
using core::Seconds;

struct LiveEngine::Impl {
  Impl(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& runner,
       const LiveOptions& options)
      : book(cluster, std::move(gpus), runner, options) {}

  // True: there was something in it, or somebody woke us.
  bool TakeInbox(Observation& out) {
    const bool any = !inbox.empty();
    for (core::Job& job : inbox) out.submitted.push_back(std::move(job));
    inbox.clear();
    return woken.exchange(false) || any;
  }
  // Hears what happened until `until`. False: nothing ever will.
  bool Wait(std::optional<Seconds> until);
  // The runner was told something since this was last asked.
  bool TakeTouched() { return std::exchange(book.touched, false); }
  std::optional<Seconds> NextDue() const;
  bool Owes() const;  // there is something to tell that is worth a turn
  bool TellProfiled(Observation& out);
  void TellEnds(Observation& out);
  void TellProgress(Observation& out);
  void ForgetOver();

  LiveBook book;
  LiveStarts starts{book};
  LiveStops stops{book, starts};
  LivePauses pauses{book, starts, stops};
  LiveStays stays{book, starts, stops};
  LiveHearing hearing{book, starts, stops, pauses, stays};
  std::vector<core::Job> inbox = {};  // submitted, not observed yet
  std::atomic<bool> woken{false};     // any thread
};

bool LiveEngine::Impl::Wait(std::optional<Seconds> until) {
  std::vector<RunEvent> events;
  const bool more = book.runner.Wait(until, events);
  for (const RunEvent& event : events) hearing.Hear(event);
  stays.StopAgainWhatIsDue();
  // One that was refused may have waited for long enough.
  if (!book.table.starts.empty()) starts.BeginWhatCan();
  return more;
}

// When there is something to do without anything happening: somebody has run alone for as long as
// was asked, a start that was refused is tried again, or a stop.
std::optional<Seconds> LiveEngine::Impl::NextDue() const {
  std::optional<Seconds> next;
  const auto also = [&](Seconds at) { next = next ? std::min(*next, at) : at; };
  for (const JobId id : book.table.live) {
    const JobEntry& job = book.table.jobs.at(id);
    if (job.Runs() && job.run->profiled_at) also(*job.run->profiled_at);
    const bool waits = (job.next && !job.run) || (job.run && job.run->wanted_back);
    if (waits && job.not_before > book.Now()) also(job.not_before);
    if (job.run && job.run->stays_until) also(*job.run->stays_until);
    if (job.run && job.run->stop_again) also(*job.run->stop_again);
  }
  return next;
}

bool LiveEngine::Impl::Owes() const {
  if (book.news.OwesLoop() || stays.Owes()) return true;
  return std::any_of(book.table.live.begin(), book.table.live.end(), [&](JobId id) {
    const JobEntry& job = book.table.jobs.at(id);
    return job.work.due() && job.Runs();
  });
}

bool LiveEngine::Impl::TellProfiled(Observation& out) {
  const Seconds now = book.Now();
  for (const JobId id : book.table.live) {
    JobEntry& job = book.table.jobs.at(id);
    if (!job.Runs() || !job.run->profiled_at || *job.run->profiled_at > now) continue;
    job.run->profiled_at.reset();
    out.profiled.push_back(id);
  }
  return !out.profiled.empty();
}

void LiveEngine::Impl::TellEnds(Observation& out) {
  LiveNews& news = book.news;
  auto& jobs = book.table.jobs;
  // What was submitted and withdrawn at once is told in two turns.
  for (const JobId id : std::exchange(news.failed, {})) {
    const bool is_new = std::any_of(out.submitted.begin(), out.submitted.end(),
                                    [&](const core::Job& job) { return job.id == id; });
    (is_new ? news.failed : out.failed).push_back(id);
  }
  out.finished = std::exchange(news.finished, {});
  for (const JobId id : std::exchange(news.out_of_memory, {})) {
    JobEntry& job = jobs.at(id);
    if (!job.believed || job.over) continue;  // the loop has it in the queue already
    // As core::Snapshot::CountOom counts.
    if (job.was_guest && !job.request.guest_oom) {
      job.request.guest_oom = job.was_guest;
    } else {
      ++job.ooms;
    }
    out.out_of_memory.push_back(id);
  }
  for (const JobId id : std::exchange(news.requeued, {})) {
    const JobEntry& job = jobs.at(id);
    if (job.believed && !job.over) out.requeued.push_back(id);
  }
  for (auto* told : {&out.finished, &out.failed, &out.out_of_memory, &out.requeued}) {
    std::sort(told->begin(), told->end());
    told->erase(std::unique(told->begin(), told->end()), told->end());
    for (const JobId id : *told) jobs.at(id).believed = false;
  }
  ForgetOver();
  for (const auto* told : {&out.finished, &out.failed}) {
    book.table.known_over.insert(book.table.known_over.end(), told->begin(), told->end());
  }
}

// Those that the loop knows to be over go one turn later: until then their figures are asked for.
void LiveEngine::Impl::ForgetOver() {
  std::erase_if(book.table.known_over, [&](JobId id) {
    // Its end is not told, or its last process is still on its way out.
    if (book.news.HasEndOf(id) || book.table.live.contains(id)) return false;
    book.table.jobs.erase(id);
    return true;
  });
}

void LiveEngine::Impl::TellProgress(Observation& out) {
  book.news.turn = false;  // notes are taken when the turn is over, those of its plan too
  const Seconds now = book.Now();
  for (const JobId id : book.table.live) {
    JobEntry& job = book.table.jobs.at(id);
    if (job.work.fresh() && job.Runs()) out.progress.push_back(job.work.Report(id, now));
  }
}

LiveEngine::LiveEngine(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus,
                       Runner& runner, const LiveOptions& options)
    : impl_(std::make_unique<Impl>(cluster, std::move(gpus), runner, options)) {}

LiveEngine::~LiveEngine() = default;

bool LiveEngine::Observe(std::optional<Seconds> wake, Observation& out) {
  Impl& in = *impl_;
  out = {};
  out.news = false;
  for (bool ready = false; !ready;) {
    ready = in.TakeInbox(out) || in.Owes();
    std::optional<Seconds> until = in.NextDue();
    if (wake) until = until ? std::min(*until, *wake) : *wake;
    // What waits already does not keep us from hearing what happened meanwhile.
    if (ready) until = in.book.Now();
    const bool more = in.Wait(until);
    ready = in.TakeInbox(out) || ready;
    out.now = in.book.Now();
    out.news = in.TellProfiled(out) || ready || in.Owes();
    ready = out.news || (wake && out.now >= *wake);
    if (!ready && !more) return false;
  }
  in.stays.TakeBack();
  in.TellEnds(out);
  in.stays.Emit(out);
  in.TellProgress(out);
  in.pauses.Emit(out);
  return true;
}

void LiveEngine::Apply(const core::Plan& plan, Observation& out) {
  Impl& in = *impl_;
  const auto poll = [&] { in.Wait(in.book.Now()); };
  // What has ended by itself until now was not stopped by this plan.
  if (!plan.stops.empty() || !plan.moves.empty()) poll();
  in.TakeTouched();
  for (const auto& stop : plan.stops) {
    stop.pause ? in.pauses.PauseByPlan(stop.job) : in.stops.StopByPlan(stop.job);
    if (core::IsEviction(stop)) ++in.book.table.jobs[stop.job].evictions;
  }
  for (const auto& move : plan.moves) in.stops.LeaveByPlan(move.job);
  if (in.TakeTouched()) poll();  // what is gone at once need not be waited for
  for (const auto& move : plan.moves) in.starts.Arrive(move.job, move.to);
  for (const auto& resize : plan.resizes) in.starts.Resize(resize.job, resize.cores);
  for (const auto& throttle : plan.throttles) in.starts.Throttle(throttle.job, throttle.share);
  for (const auto& start : plan.starts) in.starts.Start(start.job, start.to, start.profile);
  for (const JobId id : plan.infeasible) in.stops.Drop(id);
  if (in.TakeTouched() || !plan.stops.empty()) poll();
  out = {};
  out.now = in.book.Now();
  in.TellProgress(out);
}

void LiveEngine::Submit(core::Job job, RunRequest request) {
  impl_->pauses.Unpark(request.id.job, job.id);
  JobEntry& entry = impl_->book.table.jobs[job.id];
  entry.exclusive = job.exclusive;
  entry.evictions = job.evicted;
  entry.request = std::move(request);
  impl_->inbox.push_back(std::move(job));
}

void LiveEngine::Wake() {
  impl_->woken = true;
  impl_->book.runner.Wake();
}

void LiveEngine::Withdraw(JobId job) { impl_->stops.Withdraw(job); }
void LiveEngine::Cancel(JobId job) { impl_->stops.Cancel(job); }
void LiveEngine::Requeue(JobId job) { impl_->stops.Requeue(job); }

void LiveEngine::Adopt(JobId job, const RunRequest& run, RunRequest next) {
  impl_->starts.Adopt(job, run, std::move(next));
}

void LiveEngine::SetPace(JobId job, const LonePace& pace) {
  if (JobEntry* known = impl_->book.table.Find(job)) known->work.SetPace(pace);
}

void LiveEngine::SetTimeLimit(JobId job, Seconds limit) { impl_->starts.SetTimeLimit(job, limit); }

void LiveEngine::SetGpuMemory(JobId job, std::optional<core::Bytes> memory) {
  impl_->pauses.SetGpuMemory(job, memory);
}
void LiveEngine::Pause(JobId job) { impl_->pauses.Pause(job); }
void LiveEngine::Park(JobId job) { impl_->pauses.Park(job); }
void LiveEngine::ParkFound(const RunRequest& run, RunRequest next) {
  impl_->pauses.ParkFound(run, std::move(next));
}
bool LiveEngine::CancelParked(std::int64_t number) { return impl_->pauses.CancelParked(number); }
void LiveEngine::ResumeFound(JobId job) { impl_->pauses.ResumeFound(job); }

void LiveEngine::AddNode(const RunnerNode& node) {
  impl_->book.nodes.Add(node);
  impl_->book.table.on_gpu.resize(impl_->book.nodes.gpu_count());
}

void LiveEngine::MarkStaying(std::vector<bool>& stays) const {
  impl_->book.table.MarkStaying(stays);
}

void LiveEngine::Renumber(const core::Renumbering& ids) {
  SHAREWELL_CHECK(impl_->inbox.empty());
  impl_->book.table.Renumber(ids);
  impl_->book.news.Renumber(ids);
}

std::vector<Ended> LiveEngine::TakeEnded() { return std::exchange(impl_->book.news.ended, {}); }
std::vector<RunEvent> LiveEngine::TakeNotes() { return std::exchange(impl_->book.news.notes, {}); }

bool LiveEngine::IsBeingLeft(const std::vector<core::GpuId>& gpus) const {
  return impl_->book.table.IsBeingLeft(gpus);
}

Heard LiveEngine::HeardOf(JobId job) const {
  const JobEntry* known = impl_->book.table.Find(job);
  return known == nullptr ? Heard() : Heard{known->work.steps(), known->metrics};
}

}  // namespace sharewell::engine
