// What users ask: submit, cancel, hold, release, drain. Each is stored before it is done.
#include <algorithm>
#include <span>
#include <utility>

#include "control/service/service_impl.h"
#include "core/text/quoted.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;
using core::UsageError;

namespace {

tl::unexpected<core::Error> NotSubmitted(core::Error why) {
  return tl::unexpected(std::move(why).Within("nothing was submitted"));
}

}  // namespace

void Service::Impl::TakeSubmissions(std::span<SubmitRequest> requests) {
  // What happened is stored before anything is added: an end must not be without room because of a
  // submission, and who comes after a job must know of its end.
  if (outbox.owes_records()) {
    if (const auto kept = CommitAll(); !kept) {
      Publish();
      for (SubmitRequest& request : requests) request.answer(NotSubmitted(kept.error()));
      return;
    }
  }
  store::JobChanges changes;
  std::vector<Owed> admitted;
  std::int64_t next = next_number;
  for (SubmitRequest& request : requests) {
    auto records = admission.Admit(request.jobs, request.who, next, Wall());
    if (!records) {
      request.answer(tl::unexpected(std::move(records.error())));
      continue;
    }
    Owed owes{{}, std::move(request.answer)};
    for (JobRecord& record : *records) {
      changes.events.push_back(
          {0, record.submitted, "job.submitted", record.number,
           fmt::format("job {} by {}: {}", record.number, core::Quoted(record.user.name),
                       core::Quoted(core::DisplayName(record.asked)))});
      owes.numbers.push_back(record.number);
      // Live before the next one is admitted: bounds count those of the same breath too.
      live.Add(record);
      changes.jobs.push_back(std::move(record));
    }
    next += static_cast<std::int64_t>(owes.numbers.size());
    admitted.push_back(std::move(owes));
  }
  if (admitted.empty()) return;
  if (auto kept = Commit(std::move(changes)); !kept) {
    Publish();  // that nothing can be stored
    for (Owed& owes : admitted) {
      for (const std::int64_t number : owes.numbers) live.Remove(number);
      owes.answer(NotSubmitted(kept.error()));
    }
    return;
  }
  next_number = std::max(next_number, next);
  for (Owed& owes : admitted) {
    for (const std::int64_t number : owes.numbers) {
      const JobRecord& record = live.Find(number)->record;
      if (record.phase == Phase::kWaiting) {
        Enqueue(number);
      } else {
        admission.AddDependent(record);
      }
    }
    answers.push_back(std::move(owes));
  }
}

Result<void> Service::Impl::Act(Action action, std::int64_t number, const core::Account& who) {
  LiveJob* job = live.Find(number);
  if (job == nullptr) {
    if (const JobPtr over = board.Find(number)) {
      return UsageError("job {} is over: it {}", number, core::EndedAs(over->phase));
    }
    return UsageError("there is no job {} in the queue; `sharewell jobs` lists it", number);
  }
  if (!who.admin && who.uid != core::OwnerUid(job->record)) {
    if (job->record.untrusted) {
      return FailedError("job {} is {}", number, job->record.reason);
    }
    return FailedError("job {} belongs to {}: you may not touch it", number,
                       core::Quoted(job->record.user.name));
  }
  if (job->record.untrusted && action == Action::kRelease && who.uid != 0) {
    return FailedError(
        "job {}: root alone may release it, because it would run as {} and nobody knows who asked "
        "for that; `sharewell cancel {}` ends it",
        number, core::Quoted(job->record.user.name), number);
  }
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

Result<void> Service::Impl::Cancel(const LiveJob& job, const core::Account& who) {
  if (core::IsOver(job.record.phase) || job.record.cancelled) return {};  // on its way
  JobRecord record = job.record;
  const bool runs =
      record.paused || (record.phase != Phase::kWaiting && record.phase != Phase::kHeld);
  record.cancelled = true;
  record.phase = runs ? Phase::kStopping : Phase::kCancelled;
  const std::string words = kCancelledBy + who.name;
  if (runs) {
    record.reason = words;
  } else {
    record.note = words;
    record.ended = Wall();
  }
  const std::int64_t number = record.number;
  const core::JobId id = job.id;
  store::JobChanges changes;
  changes.events.push_back({0, Wall(), runs ? "job.stopping" : "job.cancelled", number,
                            fmt::format("job {} is {}", number, words)});
  changes.jobs.push_back(std::move(record));
  changes.may_use_reserve = true;
  if (auto kept = Commit(std::move(changes)); !kept) return kept;  // `job` may be gone from here on
  if (id.valid()) {
    runs ? engine.Cancel(id) : engine.Withdraw(id);
  } else if (runs) {
    engine.CancelParked(number);
  }
  return {};
}

Result<void> Service::Impl::Hold(LiveJob& job) {
  if (job.record.phase != Phase::kWaiting && job.record.phase != Phase::kHeld) {
    return FailedError(
        "job {} is {}: only a job that waits can be held; `sharewell cancel {}` ends it",
        job.record.number, core::NameOf(job.record.phase), job.record.number);
  }
  JobRecord record = job.record;
  record.asked.held = true;
  record.phase = Phase::kHeld;
  record.reason = admission.WhyHeld(record);
  store::JobChanges changes;
  changes.events.push_back(
      {0, Wall(), "job.held", record.number, fmt::format("job {} is held", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  if (job.id.valid()) {
    const core::JobId id = live.TakeId(job);
    job.record.paused ? engine.Park(id) : engine.Withdraw(id);
  }
  gate.Forget(job.record.number);
  std::erase(enqueued, job.record.number);
  return {};
}

Result<void> Service::Impl::Release(LiveJob& job) {
  if (job.record.phase != Phase::kHeld) {
    return FailedError("job {} is not held: it is {}", job.record.number,
                       core::NameOf(job.record.phase));
  }
  JobRecord record = job.record;
  record.untrusted = false;  // root has looked at it
  record.asked.held = false;
  record.lost = 0;  // somebody has looked at it
  record.reason = admission.WhyHeld(record);
  record.phase = record.reason.empty() ? Phase::kWaiting : Phase::kHeld;
  store::JobChanges changes;
  changes.events.push_back(
      {0, Wall(), "job.released", record.number, fmt::format("job {} is released", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  if (job.record.phase == Phase::kWaiting) Enqueue(job.record.number);
  return {};
}

Result<void> Service::Impl::Drain(const std::string& name, bool drained, const core::Account& who) {
  const auto found = gpus.Named(name);
  if (!found)
    return UsageError("there is no GPU {}; `sharewell top` lists them", core::Quoted(name));
  if (!who.admin) return FailedError("draining a GPU is for admins");
  if (gpus.views()[found->index()].drained == drained) return {};
  store::JobChanges changes;
  changes.kept.emplace_back("drained", gpus.DrainedText(*found, drained));
  changes.events.push_back({0, Wall(), drained ? "gpu.drained" : "gpu.undrained", 0,
                            fmt::format("GPU {} {}", core::NameOf(gpus.gpu(*found)),
                                        drained ? "takes no new jobs" : "takes jobs again")});
  if (auto kept = Commit(std::move(changes)); !kept) {
    outbox.AddKept("drained", gpus.DrainedText(*found, !drained));  // it may have been stored
    return kept;
  }
  gpus.SetDrained(*found, drained);
  SeatReservations();
  Publish();
  return {};
}

}  // namespace sharewell::control
