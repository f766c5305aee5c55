#include "control/service/jobs/job_actions.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;
using core::UsageError;

Result<void> JobActions::Act(Action action, std::int64_t number, const core::Account& who) {
  LiveJob* job = parts_.state.live.Find(number);
  if (job == nullptr) {
    if (const JobPtr over = parts_.state.board.Find(number)) {
      return UsageError("job {} is over: it {}", number, core::EndedAs(over->phase));
    }
    return UsageError("there is no job {} in the queue; `sharewell jobs` lists it", number);
  }
  if (auto may = May(action, *job, who); !may) return may;
  switch (action) {
    case Action::kCancel:
      return Cancel(*job, who);
    case Action::kHold:
      return Hold(*job);
    case Action::kRelease:
      return job->record.paused ? Resume(*job) : Release(*job);
    case Action::kPause:
      return Pause(*job, who);
    case Action::kResume:
      return Resume(*job);
  }
  return {};
}

Result<void> JobActions::May(Action action, const LiveJob& job, const core::Account& who) const {
  const JobRecord& record = job.record;
  if (!who.admin && who.uid != core::OwnerUid(record)) {
    if (record.untrusted) return FailedError("job {} is {}", record.number, record.reason);
    return FailedError("job {} belongs to {}: you may not touch it", record.number,
                       core::Quoted(record.user.name));
  }
  if (record.untrusted && action == Action::kRelease && who.uid != 0) {
    return FailedError(
        "job {}: root alone may release it, because it would run as {} and nobody knows who asked "
        "for that; `sharewell cancel {}` ends it",
        record.number, core::Quoted(record.user.name), record.number);
  }
  // Who looked at it saw the name; it would run as the number.
  if (record.untrusted && action == Action::kRelease && parts_.user_name) {
    if (const std::string name = parts_.user_name(record.user.uid); name != record.user.name) {
      return FailedError(
          "job {}: its record names {} and would run as uid {}, which is {}: somebody changed it, "
          "and it cannot be released; `sharewell cancel {}` ends it",
          record.number, core::Quoted(record.user.name), record.user.uid, core::Quoted(name),
          record.number);
    }
  }
  return {};
}

Result<void> JobActions::Cancel(const LiveJob& job, const core::Account& who) {
  if (core::IsOver(job.record.phase) || job.record.cancelled) return {};  // on its way
  JobRecord record = job.record;
  const bool runs =
      record.paused || (record.phase != Phase::kWaiting && record.phase != Phase::kHeld);
  const core::Cancelled by = core::cancelled::ByUser{who.name};
  const std::string words = core::InWords(by);
  if (runs) {
    record.phase = Phase::kStopping;
    record.cancelled = by;
    record.hold.reset();
    record.reason = words;
  } else {
    core::EndCancelled(record, by, parts_.journal.Wall());
  }
  const std::int64_t number = record.number;
  const core::JobId id = job.id;
  store::JobChanges changes;
  changes.events.push_back({0, parts_.journal.Wall(), runs ? "job.stopping" : "job.cancelled",
                            number, fmt::format("job {} is {}", number, words)});
  changes.jobs.push_back(std::move(record));
  changes.may_use_reserve = true;
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) return kept;
  // `job` may be gone from here on.
  if (id.valid()) {
    runs ? parts_.engine.Cancel(id) : parts_.engine.Withdraw(id);
  } else if (runs) {
    parts_.engine.CancelParked(number);
  }
  return {};
}

Result<void> JobActions::Hold(LiveJob& job) {
  if (job.record.phase != Phase::kWaiting && job.record.phase != Phase::kHeld) {
    return FailedError(
        "job {} is {}: only a job that waits can be held; `sharewell cancel {}` ends it",
        job.record.number, core::NameOf(job.record.phase), job.record.number);
  }
  JobRecord record = job.record;
  record.asked.held = true;
  core::SetHold(record, parts_.admission.HoldOf(record));
  store::JobChanges changes;
  changes.events.push_back({0, parts_.journal.Wall(), "job.held", record.number,
                            fmt::format("job {} is held", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) return kept;
  if (job.id.valid() && job.record.paused) parts_.engine.Park(parts_.state.live.TakeId(job));
  parts_.queue.TakeOut(job);
  return {};
}

Result<void> JobActions::Release(LiveJob& job) {
  if (job.record.phase != Phase::kHeld) {
    return FailedError("job {} is not held: it is {}", job.record.number,
                       core::NameOf(job.record.phase));
  }
  JobRecord record = job.record;
  record.untrusted = false;  // root has looked at it
  record.asked.held = false;
  record.lost = 0;  // somebody has looked at it
  core::SetHold(record, parts_.admission.HoldOf(record));
  store::JobChanges changes;
  changes.events.push_back({0, parts_.journal.Wall(), "job.released", record.number,
                            fmt::format("job {} is released", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) return kept;
  if (job.record.phase == Phase::kWaiting) parts_.queue.Enqueue(job.record.number);
  return {};
}

Result<void> JobActions::Pause(LiveJob& job, const core::Account& who) {
  const JobRecord& record = job.record;
  if (record.paused && !record.cancelled) {
    // A plan has paused it: from now on its user has.
    if (record.phase == Phase::kWaiting) return Hold(job);
    if (record.phase == Phase::kHeld || record.phase == Phase::kStopping) return {};
  }
  return parts_.pauses.Begin(job, who);
}

Result<void> JobActions::Resume(LiveJob& job) {
  const JobRecord& record = job.record;
  if (record.paused && record.phase == Phase::kHeld) return Release(job);
  if (record.paused && record.phase == Phase::kStopping) {
    return FailedError("job {} is still being paused; try again in a few seconds", record.number);
  }
  if (record.paused) return {};  // it is in the queue, or on its way
  return FailedError("job {} is not paused: it is {}", record.number, core::NameOf(record.phase));
}

}  // namespace sharewell::control
