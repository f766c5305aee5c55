// What became of runs: their ends, their paces, and what is learnt from them.
#include <algorithm>
#include <utility>

#include "control/service/parts/plan_records.h"
#include "control/service/parts/run_end.h"
#include "control/service/service_impl.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

// Before anything new is decided: what is started next must be the attempt after the one that has
// ended, and who is held by its end must not be started.
void Service::Impl::OnObserved() {
  SetBusy(true);
  TakeNews();
}

void Service::Impl::TakeNews() {
  for (const engine::RunEvent& note : engine.TakeNotes()) {
    std::visit([this](const auto& event) { Handle(event); }, note);
  }
  for (const engine::Ended& end : engine.TakeEnded()) TakeEnd(end);
}

void Service::Impl::AfterTurn() {
  TakeNews();  // of what the plan changed
  LookAtHost();
}

LiveJob* Service::Impl::JobOfRun(engine::RunId id) {
  LiveJob* job = live.Find(id.job);
  return job != nullptr && job->record.attempt == id.attempt ? job : nullptr;
}

void Service::Impl::Handle(const engine::RunNote& event) {
  LiveJob* job = JobOfRun(event.id);
  if (job == nullptr) return;
  job->record.note = event.message;
  outbox.Touch(*job);
}

void Service::Impl::Handle(const engine::TimeLimitReached& event) {
  LiveJob* job = JobOfRun(event.id);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  if (record.phase != Phase::kRunning && record.phase != Phase::kStarting) return;
  record.phase = Phase::kStopping;
  record.reason = TimeIsOver(record);
  Say("job.stopping", record.number, fmt::format("job {}: {}", record.number, record.reason));
  outbox.Touch(*job);
}

void Service::Impl::Handle(const engine::RunStarted& event) {
  LiveJob* job = JobOfRun(event.id);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  job->alone = record.beside.empty();
  if (monitor != nullptr) monitor->Began(record);
  TakeCores(*job, event);
  if (record.phase != Phase::kStarting || record.paused) return;  // it ran before this server did
  record.phase = Phase::kRunning;
  record.resumed = Wall();
  if (!record.started) {
    record.started = record.resumed;
    const core::UnixMillis waited =
        std::max<core::UnixMillis>(*record.started - record.submitted, 0);
    tally.CountWait(core::Seconds(static_cast<double>(waited) / 1e3));
  }
  Say("job.started", record.number, fmt::format("job {} runs", record.number));
  outbox.Touch(*job);
}

// It runs where it ran, whatever the plan said: the snapshot has it there again. An attempt
// elsewhere that was decided on is not made.
void Service::Impl::Handle(const engine::StopRefused& event) {
  LiveJob* job = live.Find(event.id.job);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  if (record.cancelled || core::IsOver(record.phase) || !job->id.valid()) return;
  if (record.attempt != event.id.attempt) {
    job->unmade = std::exchange(record.attempt, event.id.attempt);
    const core::Allocation& there = snapshot.job(job->id).allocation;
    record.gpus.clear();
    for (const core::GpuId gpu : there.gpus) record.gpus.push_back(gpus.gpu(gpu));
    record.cores = there.cores;
    record.sm_share = there.sm_share;
    record.resumed.reset();  // RunStarted follows
    record.beside = JobsOn(there.gpus, job->id, snapshot, live);
  }
  record.phase = record.resumed ? Phase::kRunning : Phase::kStarting;
  record.reason = "it keeps its place for now";
  record.note = event.why;
  Say("job.kept", record.number, fmt::format("job {}: {}", record.number, event.why));
  outbox.Touch(*job);
}

// What the manager gave is what is taken, whatever it was told.
void Service::Impl::TakeCores(LiveJob& job, const engine::RunStarted& started) {
  JobRecord& record = job.record;
  if (!started.message.empty() && record.phase == Phase::kStarting) {
    record.reason += "; " + started.message;
  }
  if (started.cores <= 0 || started.cores == record.cores) return;
  record.cores = started.cores;
  outbox.Touch(job);
  if (job.id.valid() && snapshot.job(job.id).state == core::JobState::kRunning) {
    loop->Resize(job.id, started.cores);
  }
}

void Service::Impl::TakeEnd(const engine::Ended& end) {
  outbox.AddEnded(end.run);
  LiveJob* job = live.Find(end.run.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  JobRecord& record = job->record;
  if (record.attempt == end.run.attempt && monitor != nullptr) {
    record.seen = SeenOf(monitor->Seen(record.number), record.asked.gpus);
    monitor->Ended(record.number);
  }
  const bool paused_by_hand = std::exchange(record.paused, false) && record.asked.held;
  WriteEnd(end, Wall(), record);
  if (record.phase == Phase::kWaiting && paused_by_hand) {
    record.phase = Phase::kHeld;  // its user wants it to wait
    record.reason =
        "held: its process ended while it was paused; it begins anew when it is released";
  } else if (record.phase == Phase::kWaiting && !job->id.valid()) {
    EnqueueIfItFits(*job);
  }
  const bool over = core::IsOver(record.phase), held = record.phase == Phase::kHeld;
  if (held && job->id.valid()) engine.Withdraw(live.TakeId(*job));
  if (over && job->id.valid()) {
    // Of one that was found again only the end was seen.
    if (!job->adopted) record.alone_time = snapshot.alone_time(snapshot.job(job->id));
    record.steps = engine.StepsOf(job->id) ? engine.StepsOf(job->id) : record.steps;
  }
  // What somebody typed says nothing about the next time.
  if (record.phase == Phase::kFinished && !record.asked.terminal) paces.LearnRun(*job);
  if (record.phase == Phase::kWaiting && job->id.valid() &&
      (record.evicted >= core::kEvictionsAlone || end.end.fall ||
       std::exchange(job->queue_anew, false))) {
    // Into the queue as another one: what it may and needs is not what it was seated with.
    engine.Withdraw(live.TakeId(*job));
    EnqueueIfItFits(*job);
  }
  // Cancelled by its manager while it was on its way back into the queue.
  if (over && end.outcome == engine::Outcome::kRequeued && job->id.valid()) {
    engine.Withdraw(live.TakeId(*job));
  }
  outbox.Touch(*job);
  if (end.earlier_leaves) return;  // what becomes of it is told with the end of that one
  const std::string words = EndInWords(end.end, record);
  Say(fmt::format("job.{}", over || held ? core::NameOf(record.phase) : "requeued").c_str(),
      record.number,
      fmt::format("job {} {}{}{}", record.number,
                  over   ? core::NameOf(record.phase)
                  : held ? "is held"
                         : "is back in the queue",
                  record.exit_code ? fmt::format(", exit code {}", *record.exit_code) : "",
                  words.empty() ? "" : ": " + words));
}

}  // namespace sharewell::control
