#include "control/service/runs/run_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "control/service/jobs/kept_usage.h"
#include "control/service/record/plan_records.h"
#include "control/service/runs/run_end.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

RunKeeper::RunKeeper(const Parts& parts)
    : parts_(parts),
      told_({.state = parts.state,
             .journal = parts.journal,
             .paces = parts.paces,
             .loop = parts.loop,
             .advisor = parts.advisor,
             .reader = parts.reader,
             .later = parts.later}) {}

void RunKeeper::Hear(const engine::RunNote& event) {
  LiveJob* job = parts_.state.live.FindRun(event.id);
  if (job == nullptr) return;
  job->record.note = event.message;
  parts_.journal.Touch(*job);
}

void RunKeeper::Hear(const engine::TimeLimitReached& event) {
  LiveJob* job = parts_.state.live.FindRun(event.id);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  if (record.phase != Phase::kRunning && record.phase != Phase::kStarting) return;
  record.phase = Phase::kStopping;
  record.reason = TimeIsOver(record);
  parts_.journal.Emit("job.stopping", record.number,
                      fmt::format("job {}: {}", record.number, record.reason));
  parts_.journal.Touch(*job);
}

void RunKeeper::Hear(const engine::RunStarted& event) {
  LiveJob* job = parts_.state.live.FindRun(event.id);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  job->alone = record.beside.empty();
  job->always_alone = job->always_alone && job->alone;
  if (parts_.monitor != nullptr) parts_.monitor->Began(record);
  TakeCores(*job, event);
  if (record.phase != Phase::kStarting || record.paused) return;  // it ran before this server did
  record.phase = Phase::kRunning;
  if (std::exchange(job->noted_refused, false)) record.note.clear();
  record.resumed = parts_.journal.Wall();
  if (!record.started) {
    record.started = record.resumed;
    const core::UnixMillis waited =
        std::max<core::UnixMillis>(*record.started - record.submitted, 0);
    parts_.journal.tally().CountWait(core::Seconds(static_cast<double>(waited) / 1e3));
  }
  parts_.journal.Emit("job.started", record.number, fmt::format("job {} runs", record.number));
  parts_.journal.Touch(*job);
}

// It runs where it ran, whatever the plan said: the snapshot has it there again. An attempt
// elsewhere that was decided on is not made.
void RunKeeper::Hear(const engine::StopRefused& event) {
  LiveJob* job = parts_.state.live.Find(event.id.job);
  if (job == nullptr) return;
  JobRecord& record = job->record;
  if (record.cancelled || core::IsOver(record.phase) || !job->id.valid()) return;
  if (record.attempt != event.id.attempt) {
    job->unmade = std::exchange(record.attempt, event.id.attempt);
    const core::Allocation& there = parts_.state.snapshot.job(job->id).allocation;
    record.gpus.clear();
    for (const core::GpuId gpu : there.gpus) record.gpus.push_back(parts_.state.gpus.gpu(gpu));
    record.cores = there.cores;
    record.sm_share = there.sm_share;
    record.guest_memory = there.guest_memory;
    record.resumed.reset();  // RunStarted follows
    record.beside = JobsOn(there.gpus, job->id, parts_.state.snapshot, parts_.state.live);
  }
  record.phase = record.resumed ? Phase::kRunning : Phase::kStarting;
  record.reason = "it keeps its place for now";
  record.note = event.why;
  parts_.journal.Emit("job.kept", record.number,
                      fmt::format("job {}: {}", record.number, event.why));
  parts_.journal.Touch(*job);
}

// What the manager gave is what is taken, whatever it was told.
void RunKeeper::TakeCores(LiveJob& job, const engine::RunStarted& started) {
  JobRecord& record = job.record;
  if (!started.message.empty() && record.phase == Phase::kStarting) {
    record.reason += "; " + started.message;
  }
  if (started.cores <= 0 || started.cores == record.cores) return;
  record.cores = started.cores;
  parts_.journal.Touch(job);
  if (job.id.valid() && parts_.state.snapshot.job(job.id).state == core::JobState::kRunning) {
    parts_.loop.Resize(job.id, started.cores);
  }
}

void RunKeeper::TakeEnd(const engine::Ended& end) {
  parts_.journal.outbox().AddEnded(end.run);
  LiveJob* job = parts_.state.live.Find(end.run.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  JobRecord& record = job->record;
  if (record.attempt == end.run.attempt && parts_.monitor != nullptr) {
    record.seen = SeenOf(parts_.monitor->Seen(record.number), record.asked.gpus);
    parts_.monitor->Ended(record.number);
  }
  const bool paused_by_hand = std::exchange(record.paused, false) && record.asked.held;
  const core::Seconds ran_before = record.run_time;
  WriteEnd(end, parts_.journal.Wall(), record);
  CountInWeek(record, record.run_time - ran_before);
  const bool broke = end.end.fall && end.end.fall->part == engine::Fall::Part::kCulprit;
  if (parts_.state.breakers.TakeEnd(record, broke)) parts_.queue.QueueKindAnew(record);
  if (record.phase == Phase::kWaiting && paused_by_hand) {
    core::SetHold(record, core::hold::EndedPaused{});  // its user wants it to wait
  } else if (record.phase == Phase::kWaiting && !job->id.valid()) {
    parts_.queue.EnqueueIfItFits(*job);
  }
  const bool over = core::IsOver(record.phase), held = record.phase == Phase::kHeld;
  if (held && job->id.valid()) parts_.engine.Withdraw(parts_.state.live.TakeId(*job));
  if (over && job->id.valid()) {
    record.alone_time = parts_.paces.TimeAlone(*job);
    if (const auto told = parts_.engine.HeardOf(job->id).steps) {
      record.steps = told->steps;
      if (told->steps > 0) record.steps_by = CountedBy(*told);
    }
  }
  parts_.paces.TakeSpeed(*job);
  // What somebody typed says nothing about the next time.
  if (record.phase == Phase::kFinished && !record.asked.terminal) {
    told_.Ended(record, parts_.paces.LearnRun(*job));
  }
  job->noted_refused = end.end.refused && record.phase == Phase::kWaiting;
  if (record.phase == Phase::kWaiting && job->id.valid() &&
      (record.evicted >= core::kEvictionsAlone || end.end.fall ||
       std::exchange(job->queue_anew, false))) {
    // Into the queue as another one: what it may and needs is not what it was seated with.
    parts_.engine.Withdraw(parts_.state.live.TakeId(*job));
    parts_.queue.EnqueueIfItFits(*job);
  }
  // Cancelled by its manager while it was on its way back into the queue.
  if (over && end.outcome == engine::Outcome::kRequeued && job->id.valid()) {
    parts_.engine.Withdraw(parts_.state.live.TakeId(*job));
  }
  parts_.journal.Touch(*job);
  KeepUsage(record.user.name);
  // What becomes of it is told with the end of the earlier one.
  if (!end.earlier_leaves) EmitEnd(end, record);
}

void RunKeeper::CountInWeek(const JobRecord& record, core::Seconds ran) {
  const std::string& user = record.user.name;
  const core::UnixMillis now = parts_.journal.Wall();
  const auto took = static_cast<core::UnixMillis>(std::max(0.0, ran.value) * 1e3);
  parts_.state.week.Add(user, now - took, now, record.asked.gpus);
  parts_.journal.outbox().AddKept(std::string(kWeekFacts) + user, parts_.state.week.TextOf(user));
}

void RunKeeper::KeepUsage(const std::string& user) {
  const double used = parts_.state.snapshot.usage(parts_.state.live.UserIdOf(user));
  parts_.journal.outbox().AddKept(std::string(kUsageFacts) + user,
                                  ToText({used, parts_.journal.Wall()}));
}

void RunKeeper::EmitEnd(const engine::Ended& end, const JobRecord& record) {
  const bool over = core::IsOver(record.phase), held = record.phase == Phase::kHeld;
  const std::string words = EndInWords(end.end, record);
  parts_.journal.Emit(
      fmt::format("job.{}", over || held ? core::NameOf(record.phase) : "requeued"), record.number,
      fmt::format("job {} {}{}{}", record.number,
                  over   ? core::NameOf(record.phase)
                  : held ? "is held"
                         : "is back in the queue",
                  record.exit_code ? fmt::format(", exit code {}", *record.exit_code) : "",
                  words.empty() ? "" : ": " + words));
}

}  // namespace sharewell::control
