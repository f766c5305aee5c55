#include "control/service/jobs/foreign_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;
using core::Result;

namespace {

constexpr core::Seconds kForeignAgain(1);  // where the store does not take them

}  // namespace

ForeignIntake::ForeignIntake(const Parts& parts) : parts_(parts) {
  if (parts.manager == nullptr) return;
  // A manager that has users of its own shows them why their job waits.
  parts.state.board.OnPut([&manager = *parts.manager](const JobRecord& record) {
    if (record.reason.empty()) return;
    if (record.phase == Phase::kStopping && !record.cancelled) {
      return manager.ShowLeaving(record.number, record.evicted, record.reason);
    }
    if (record.phase != Phase::kWaiting && record.phase != Phase::kHeld) return;
    manager.ShowReason(record.number,
                       record.note.empty() ? record.reason : record.reason + "; " + record.note);
  });
}

std::optional<core::Seconds> ForeignIntake::TryAgainIn() const {
  if (told_.empty()) return std::nullopt;
  return pause_;
}

// A number that is over may come again: somebody put the job back into the manager's queue, or its
// ids began anew. One that was cancelled here and is still there is cancelled there again: the
// server may have been killed in between.
Result<bool> ForeignIntake::IsNews(const engine::JobSubmitted& event) {
  const std::int64_t number = event.job;
  if (parts_.state.live.Find(number) != nullptr) return false;
  store::JobFilter filter;
  filter.number = number;
  const auto found = parts_.store.Jobs(filter);
  RETURN_IF_ERROR(found);
  for (const JobRecord& old : *found) {
    const bool here = old.phase == Phase::kCancelled && old.cancelled &&
                      std::holds_alternative<core::cancelled::ByUser>(*old.cancelled);
    if (!here || event.as.submitted > old.submitted) continue;
    parts_.manager->CancelWaiting(number);
    return false;
  }
  return true;
}

JobRecord ForeignIntake::RecordOf(const engine::JobSubmitted& event) {
  const engine::ForeignJob& job = event.as;
  auto admitted = parts_.admission.Admit({&job.asked, 1}, job.user, event.job, job.submitted);
  JobRecord record;
  if (admitted) {
    record = std::move(admitted->front());
  } else {
    // It is in the manager's queue whether we like it or not: so it is held, and says why.
    record.number = event.job;
    record.user = job.user;
    record.asked = job.asked;
    record.asked.held = true;
    record.asked.project.clear();
    record.submitted = job.submitted;
    const std::string& why = admitted.error().message;
    const bool fits = parts_.advisor.Check(job.user, job.asked).has_value();
    core::SetHold(record, fits ? core::Hold(core::hold::Refused{why}) : core::hold::NoNodes{why});
  }
  record.note = job.remark;
  return record;
}

void ForeignIntake::Admit() {
  if (told_.empty()) return;
  pause_ = kForeignAgain;
  // Where that fails they stay, and are tried again.
  if (parts_.journal.outbox().owes_records() && !parts_.journal.CommitAll()) return;
  store::JobChanges changes;
  std::vector<std::int64_t> added;
  std::vector<engine::JobSubmitted> later;
  for (engine::JobSubmitted& event : std::exchange(told_, {})) {
    const auto news = IsNews(event);
    if (!news) later.push_back(event);
    if (!news || !*news) continue;
    JobRecord record = RecordOf(event);
    changes.events.push_back(
        {0, record.submitted, "job.submitted", record.number,
         fmt::format("job {} by {}: {}", record.number, core::Quoted(record.user.name),
                     core::Quoted(core::DisplayName(record.asked)))});
    added.push_back(record.number);
    parts_.state.live.Add(record).terms = event.as.terms;
    changes.jobs.push_back(std::move(record));
    later.push_back(std::move(event));
  }
  told_ = std::move(later);
  if (added.empty()) return;
  if (!parts_.journal.Commit(std::move(changes))) {
    for (const std::int64_t number : added) parts_.state.live.Remove(number);
    parts_.view.Publish();  // that nothing can be stored
    return;
  }
  std::erase_if(told_, [&](const engine::JobSubmitted& event) {
    return std::find(added.begin(), added.end(), event.job) != added.end();
  });
  for (const std::int64_t number : added) {
    parts_.journal.NumberIsTaken(number);
    const Phase phase = parts_.state.live.Find(number)->record.phase;
    if (phase == Phase::kWaiting) parts_.queue.Enqueue(number);
  }
}

void ForeignIntake::Hear(const engine::JobWithdrawn& event) {
  std::erase_if(told_, [&](const engine::JobSubmitted& one) { return one.job == event.job; });
  LiveJob* job = parts_.state.live.Find(event.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  job->withdrawn = true;
  JobRecord& record = job->record;
  const bool waits = record.phase == Phase::kWaiting || record.phase == Phase::kHeld;
  if (!waits) {  // how its run ended follows
    record.cancelled = core::cancelled::ByManager{event.why};
    record.reason = event.why;
    return parts_.journal.Touch(*job);
  }
  core::EndCancelled(record, core::cancelled::ByManager{event.why}, parts_.journal.Wall());
  parts_.journal.Emit("job.cancelled", record.number,
                      fmt::format("job {}: {}", record.number, event.why));
  parts_.queue.TakeOut(*job);
  parts_.journal.Touch(*job);
}

// What a job may and may not is part of what it is seated with: it is queued anew.
void ForeignIntake::Hear(const engine::TermsChanged& event) {
  for (engine::JobSubmitted& one : told_) {
    if (one.job == event.job) one.as.terms = event.terms;
  }
  LiveJob* job = parts_.state.live.Find(event.job);
  if (job == nullptr || job->terms == event.terms) return;
  job->terms = event.terms;
  core::Submission& asked = job->record.asked;
  const int at_once = event.terms.array_at_once;
  if (at_once > 0 && asked.array_at_once && *asked.array_at_once != at_once) {
    asked.array_at_once = at_once;
    parts_.journal.Touch(*job);
  }
  if (job->record.phase != Phase::kWaiting) {  // it holds when it waits again
    job->queue_anew = job->id.valid();
    return;
  }
  parts_.queue.TakeOut(*job);
  parts_.queue.EnqueueIfItFits(*job);
  parts_.engine.Wake();
}

void ForeignIntake::Hear(const engine::NeedsKnown& event) {
  for (engine::JobSubmitted& one : told_) {
    if (one.job != event.job) continue;
    one.as.asked.needs = event.needs;
    one.as.remark = event.remark;
  }
  LiveJob* job = parts_.state.live.Find(event.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  JobRecord& record = job->record;
  record.asked.needs = event.needs;
  record.note = event.remark;
  record.believed = parts_.advisor.NeedsOf(record.user, record.asked);
  parts_.journal.Touch(*job);
  if (record.phase != Phase::kWaiting) return;
  parts_.queue.TakeOut(*job);
  parts_.queue.EnqueueIfItFits(*job);
  parts_.engine.Wake();
}

Result<void> ForeignIntake::Adopt(const std::map<engine::RunId, engine::RunRequest>& runs,
                                  std::vector<JobRecord>& records) {
  if (parts_.manager == nullptr) return {};
  for (const auto& [id, run] : runs) {
    const std::int64_t number = id.job;
    const auto same = [&](const JobRecord& record) { return record.number == number; };
    if (std::any_of(records.begin(), records.end(), same)) continue;
    const auto over = parts_.store.PhasesOf({number});
    RETURN_IF_ERROR(over);
    if (!over->empty()) continue;
    JobRecord record;
    record.number = number;
    record.user = run.user;
    record.asked = run.asked;
    record.believed = parts_.advisor.NeedsOf(run.user, run.asked);
    record.attempt = id.attempt;
    record.phase = Phase::kRunning;
    record.gpus = run.gpus;
    record.cores = run.cores;
    record.sm_share = run.thread_share.value_or(1);
    record.guest_memory = run.guest_memory;
    const core::UnixMillis now = parts_.journal.Wall();
    record.submitted = run.submitted > 0 ? std::min(run.submitted, now) : now;
    record.started = record.resumed = run.started > 0 ? std::min(run.started, now) : now;
    parts_.journal.NumberIsTaken(number);
    records.push_back(std::move(record));
  }
  return {};
}

}  // namespace sharewell::control
