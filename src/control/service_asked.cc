// What users ask: submit, cancel, hold, release, drain.
#include <algorithm>
#include <span>
#include <utility>

#include "control/service_inside.h"
#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;
using core::UsageError;

void Service::Impl::TakeAsked() {
  std::vector<Asked> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(asked);
  }
  // Submissions that stand next to each other become durable together: one disk write for many.
  for (std::size_t i = 0; i < taken.size();) {
    std::size_t end = i;
    while (end < taken.size() && !taken[end].act) ++end;
    if (end == i) {
      taken[i++].act();
      continue;
    }
    TakeSubmissions(std::span(taken).subspan(i, end - i));
    i = end;
  }
}

void Service::Impl::Count(const JobRecord& record, bool in) {
  Share& share = live_of[record.user.name];
  const std::size_t bytes = BytesOf(record.asked);
  if (in) {
    ++share.jobs;
    share.bytes += bytes;
    return;
  }
  share.bytes -= bytes;
  if (--share.jobs == 0) live_of.erase(record.user.name);
}

Result<std::vector<JobRecord>> Service::Impl::Admit(const Asked& what, std::int64_t first) {
  if (what.jobs.empty()) return UsageError("nothing was submitted: give at least one job");
  const auto mine = live_of.find(what.who.name);
  const std::size_t have = mine == live_of.end() ? 0 : mine->second.jobs;
  std::size_t bytes = mine == live_of.end() ? 0 : mine->second.bytes;
  for (const core::Submission& job : what.jobs) bytes += BytesOf(job);
  if (bytes > options.most_bytes_of_one) {
    return FailedError(
        "the commands and environments of all jobs of {} would take {} MiB, more than the {} that "
        "one user may have; wait for some to end, or pass what is long in files",
        what.who.name, bytes >> 20, options.most_bytes_of_one >> 20);
  }
  if (have + what.jobs.size() > options.most_waiting_of_one) {
    return FailedError(
        "{} has {} jobs here, and {} more would be above the {} that one user may have; "
        "wait for some to end, or cancel some",
        what.who.name, have, what.jobs.size(), options.most_waiting_of_one);
  }
  if (live.size() + what.jobs.size() > options.most_waiting) {
    return FailedError("the queue is full ({} jobs); try again later", live.size());
  }
  std::vector<JobRecord> records;
  for (const core::Submission& job : what.jobs) {
    RETURN_IF_ERROR(advisor.Check(job));
    JobRecord record;
    record.number = first + static_cast<std::int64_t>(records.size());
    record.user = what.who;
    record.asked = job;
    record.submitted = Wall();
    for (const std::int64_t before : job.after) {
      if (before <= 0 || before >= record.number) {
        return UsageError(
            "after job {}: there is no such job yet; `sharewell jobs --all` lists them", before);
      }
    }
    if (const auto failed = FailedBefore(record)) {
      return UsageError("after job {}: it did not finish well, so this one would never start",
                        *failed);
    }
    record.reason = Waits(record);
    for (const std::int64_t before : job.after) {
      if (before >= first) record.reason = fmt::format("comes after job {}", before);
    }
    record.phase = record.reason.empty() ? Phase::kWaiting : Phase::kHeld;
    record.believed = advisor.NeedsOf(job);
    records.push_back(std::move(record));
  }
  return records;
}

void Service::Impl::TakeSubmissions(std::span<Asked> submissions) {
  store::JobChanges changes;
  std::vector<Owed> admitted;
  std::int64_t next = next_number;
  for (Asked& what : submissions) {
    auto records = Admit(what, next);
    if (!records) {
      what.submitted(tl::unexpected(std::move(records.error())));
      continue;
    }
    Owed owes{{}, std::move(what.submitted)};
    for (JobRecord& record : *records) {
      changes.events.push_back(
          {next_event + static_cast<std::int64_t>(changes.events.size()), record.submitted,
           "job.submitted", record.number,
           fmt::format("job {} by {}: {}", record.number, core::Quoted(record.user.name),
                       core::Quoted(core::DisplayName(record.asked)))});
      owes.numbers.push_back(record.number);
      // Live before the next one is admitted: bounds count those of the same breath too.
      Count(record, true);
      live[record.number].record = record;
      changes.jobs.push_back(std::move(record));
    }
    next += static_cast<std::int64_t>(owes.numbers.size());
    admitted.push_back(std::move(owes));
  }
  if (admitted.empty()) return;
  if (auto kept = Commit(std::move(changes)); !kept) {
    Publish();  // that nothing can be stored
    for (Owed& owes : admitted) {
      for (const std::int64_t number : owes.numbers) {
        Count(live[number].record, false);
        live.erase(number);
      }
      core::Error error = kept.error();
      owes.answer(tl::unexpected(std::move(error).Within("nothing was submitted")));
    }
    return;
  }
  next_number = next;
  for (Owed& owes : admitted) {
    for (const std::int64_t number : owes.numbers) {
      Live& job = live[number];
      if (job.record.phase == Phase::kWaiting) {
        Enqueue(number);
      } else {
        ComeAfter(job.record);
      }
    }
    answers.push_back(std::move(owes));
  }
}

void Service::Impl::ComeAfter(const JobRecord& record) {
  for (const std::int64_t before : record.asked.after) {
    if (live.contains(before)) dependents.emplace(before, record.number);
  }
}

std::string Service::Impl::Waits(const JobRecord& record) const {
  if (record.asked.held) return "held: `sharewell release` lets it go";
  for (const std::int64_t before : record.asked.after) {
    if (const auto found = live.find(before); found != live.end()) {
      return fmt::format("comes after job {}, which is {}", before,
                         core::NameOf(found->second.record.phase));
    }
  }
  return {};
}

std::optional<std::int64_t> Service::Impl::FailedBefore(const JobRecord& record) const {
  for (const std::int64_t before : record.asked.after) {
    if (live.count(before) != 0 || before >= next_number) continue;
    std::optional<Phase> how;
    if (const JobPtr over = board.Find(before)) how = over->phase;
    if (!how) {  // long over
      store::JobFilter filter;
      filter.number = before;
      const auto found = jobs.Jobs(filter);
      if (!found) return before;  // nobody can say that it finished well
      if (!found->empty()) how = found->front().phase;
    }
    if (how && core::IsOver(*how) && *how != Phase::kFinished) return before;
  }
  return std::nullopt;
}

Result<void> Service::Impl::DoAct(Action action, std::int64_t number, const core::Account& who) {
  Live* job = Find(number);
  if (job == nullptr) {
    if (const JobPtr over = board.Find(number)) {
      return UsageError("job {} is over ({})", number, core::NameOf(over->phase));
    }
    return UsageError("there is no job {} in the queue; `sharewell jobs` lists it", number);
  }
  if (!who.admin && who.uid != job->record.user.uid) {
    return FailedError("job {} belongs to {}: you may not touch it", number,
                       core::Quoted(job->record.user.name));
  }
  switch (action) {
    case Action::kCancel:
      return DoCancel(*job, who);
    case Action::kHold:
      return DoHold(*job);
    case Action::kRelease:
      return DoRelease(*job);
  }
  return {};
}

Result<void> Service::Impl::DoCancel(Live& job, const core::Account& who) {
  if (core::IsOver(job.record.phase) || job.record.cancelled) return {};  // on its way
  JobRecord record = job.record;
  const bool runs = record.phase != Phase::kWaiting && record.phase != Phase::kHeld;
  record.cancelled = true;
  record.phase = runs ? Phase::kStopping : Phase::kCancelled;
  const std::string words = "cancelled by " + who.name;
  if (runs) {
    record.reason = words;
  } else {
    record.note = words;
    record.ended = Wall();
  }
  const std::int64_t number = record.number;
  const core::JobId id = job.id;
  store::JobChanges changes;
  changes.events.push_back({next_event, Wall(), runs ? "job.stopping" : "job.cancelled", number,
                            fmt::format("job {} is {}", number, words)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;  // `job` may be gone from here on
  if (id.valid()) runs ? engine.Cancel(id) : engine.Withdraw(id);
  return {};
}

Result<void> Service::Impl::DoHold(Live& job) {
  if (job.record.phase != Phase::kWaiting && job.record.phase != Phase::kHeld) {
    return FailedError(
        "job {} is {}: only a job that waits can be held; `sharewell cancel {}` ends it",
        job.record.number, core::NameOf(job.record.phase), job.record.number);
  }
  JobRecord record = job.record;
  record.asked.held = true;
  record.phase = Phase::kHeld;
  record.reason = Waits(record);
  store::JobChanges changes;
  changes.events.push_back({next_event, Wall(), "job.held", record.number,
                            fmt::format("job {} is held", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  if (job.id.valid()) engine.Withdraw(std::exchange(job.id, {}));
  std::erase(enqueued, job.record.number);
  return {};
}

Result<void> Service::Impl::DoRelease(Live& job) {
  if (job.record.phase != Phase::kHeld) {
    return FailedError("job {} is not held: it is {}", job.record.number,
                       core::NameOf(job.record.phase));
  }
  JobRecord record = job.record;
  record.asked.held = false;
  record.reason = Waits(record);
  record.phase = record.reason.empty() ? Phase::kWaiting : Phase::kHeld;
  store::JobChanges changes;
  changes.events.push_back({next_event, Wall(), "job.released", record.number,
                            fmt::format("job {} is released", record.number)});
  changes.jobs.push_back(std::move(record));
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  if (job.record.phase == Phase::kWaiting) Enqueue(job.record.number);
  return {};
}

Result<void> Service::Impl::DoDrain(const std::string& name, bool drained,
                                    const core::Account& who) {
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuView& gpu) {
    return gpu.gpu.uuid == name || std::to_string(gpu.gpu.index) == name;
  });
  if (found == gpus.end()) {
    return UsageError("there is no GPU {}; `sharewell top` lists them", core::Quoted(name));
  }
  if (!who.admin) return FailedError("draining a GPU is for admins");
  if (found->drained == drained) return {};
  std::string list;
  for (const GpuView& gpu : gpus) {
    if (&gpu == &*found ? drained : gpu.drained) list += gpu.gpu.uuid + "\n";
  }
  store::JobChanges changes;
  changes.kept.emplace_back("drained", list);
  changes.events.push_back({next_event, Wall(), drained ? "gpu.drained" : "gpu.undrained", 0,
                            fmt::format("GPU {} {}", found->gpu.index,
                                        drained ? "takes no new jobs" : "takes jobs again")});
  if (auto kept = Commit(std::move(changes)); !kept) return kept;
  found->drained = drained;
  SeatReservations();
  Publish();
  return {};
}

}  // namespace sharewell::control
