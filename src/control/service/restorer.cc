#include "control/service/restorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "control/service/jobs/kept_usage.h"
#include "control/service/runs/run_end.h"
#include "core/text/words.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;
using core::Result;

namespace {

// Absent: there is no job.
std::optional<core::UnixMillis> YoungestTime(std::span<const JobRecord> old,
                                             std::span<const JobRecord> live) {
  std::optional<core::UnixMillis> youngest;
  for (const auto& records : {old, live}) {
    for (const JobRecord& record : records) {
      youngest = std::max(youngest.value_or(0), record.ended.value_or(record.submitted));
    }
  }
  return youngest;
}

}  // namespace

Result<void> Restorer::Restore() {
  const core::UnixMillis today = parts_.journal.LookAtClocks();
  auto last_number = parts_.store.LastNumber();
  RETURN_IF_ERROR(last_number);
  auto last_event = parts_.store.LastEvent();
  RETURN_IF_ERROR(last_event);
  RETURN_IF_ERROR(parts_.nodes.ReadDrained());
  store::JobFilter over;
  over.phases = {Phase::kFinished, Phase::kFailed, Phase::kCancelled};
  over.most = 2000;
  over.most_bytes = std::size_t{64} << 20;  // what the board holds
  auto old = parts_.store.Jobs(over);
  RETURN_IF_ERROR(old);
  store::JobFilter not_over;
  not_over.phases = {Phase::kHeld, Phase::kWaiting, Phase::kStarting, Phase::kRunning,
                     Phase::kStopping};
  not_over.most = std::numeric_limits<std::int32_t>::max();
  auto records = parts_.store.Jobs(not_over);
  RETURN_IF_ERROR(records);

  parts_.journal.wall().BeginAfter(YoungestTime(*old, *records).value_or(today));
  parts_.journal.NumberIsTaken(*last_number);
  parts_.journal.outbox().ContinueAfter(*last_event);
  parts_.state.snapshot.AdvanceTo(parts_.journal.Now());
  const policy::Policy& policy = parts_.advisor.Policy();
  parts_.view.Begin(today, policy.Name());
  parts_.loop.Follow(policy);
  RETURN_IF_ERROR(RestoreUsage(*old, *records));
  parts_.state.breakers.Restore(*old, *records);
  for (JobRecord& record : *old) parts_.state.board.Put(std::move(record));

  Runs runs;
  for (engine::RunRequest& run : parts_.runner.Recover()) {
    const engine::RunId id = run.id;
    runs.emplace(id, std::move(run));
  }
  RETURN_IF_ERROR(parts_.foreign.Adopt(runs, *records));
  RestoreJobs(std::move(*records), runs);
  // Whose job is over, or was started anew: what is left of such a run has no owner.
  for (const auto& [id, run] : runs) {
    parts_.runner.Stop(id, {core::Seconds(0)});
    parts_.journal.outbox().AddEnded(id);
  }
  parts_.nodes.SeatReservations();
  // What cannot be stored or read now is tried again with the first turn.
  if (!parts_.journal.CommitAll() || !look_again_.empty()) {
    parts_.loop.TurnBy(parts_.journal.Now());
  }
  return {};
}

Result<void> Restorer::RestoreUsage(const std::vector<JobRecord>& over,
                                    const std::vector<JobRecord>& live) {
  const auto stored = parts_.store.KeptUnder(std::string(kUsageFacts));
  RETURN_IF_ERROR(stored);
  const core::UnixMillis now = parts_.journal.Wall();
  const auto add = [&](const std::string& user, const KeptUsage& used) {
    if (used.gpu_seconds <= 0) return;
    parts_.state.snapshot.AddUsage(parts_.state.live.UserIdOf(user), UsageAt(used, now));
  };
  const auto weeks = parts_.store.KeptUnder(std::string(kWeekFacts));
  RETURN_IF_ERROR(weeks);
  for (const auto& [user, text] : *weeks) (void)parts_.state.week.Restore(user, text);
  std::map<std::string, core::UnixMillis> known_to;  // when a user's sum was stored
  for (const auto& [user, text] : *stored) {
    const auto sum = KeptUsageFrom(text);
    if (!sum) continue;
    known_to[user] = sum->at;
    add(user, *sum);
  }
  // Records tell of those whose sum no server has stored yet.
  const auto ran = [](const JobRecord& record, core::UnixMillis until) {
    return KeptUsage{record.run_time.value * record.asked.gpus, until};
  };
  for (const JobRecord& record : over) {
    const std::string& user = record.user.name;
    if (!known_to.contains(user)) add(user, ran(record, record.ended.value_or(0)));
  }
  for (const JobRecord& record : live) {
    const std::string& user = record.user.name;
    core::UnixMillis began = record.resumed.value_or(now);
    if (const auto known = known_to.find(user); known != known_to.end()) {
      began = std::max(began, known->second);
    } else {
      add(user, ran(record, began));
    }
    if (record.phase != Phase::kRunning) continue;
    add(user, {static_cast<double>(now - began) / 1e3 * record.asked.gpus, now});
  }
  return {};
}

void Restorer::RestoreJobs(std::vector<JobRecord> records, Runs& runs) {
  std::sort(records.begin(), records.end(),
            [](const JobRecord& a, const JobRecord& b) { return a.number < b.number; });
  LiveJobs& live = parts_.state.live;
  std::vector<std::int64_t> numbers;
  for (JobRecord& record : records) {  // all, before one looks for another
    numbers.push_back(record.number);
    live.Add(std::move(record));
  }
  records.clear();
  records.shrink_to_fit();  // with tens of thousands in the queue they are a good part of memory
  for (const std::int64_t number : numbers) RestoreOne(*live.Find(number), runs);
  std::size_t running = 0;
  for (const std::int64_t number : numbers) {
    const LiveJob* job = live.Find(number);
    const Phase phase = job == nullptr ? Phase::kFinished : job->record.phase;
    if (phase == Phase::kWaiting || phase == Phase::kHeld) parts_.foreign.Expect(number);
    if (phase == Phase::kRunning) ++running;
  }
  if (numbers.empty()) return;
  parts_.journal.Log(fmt::format("{} found again, {} of them running",
                                 core::Count(numbers.size(), "job was", "jobs were"), running));
}

void Restorer::RestoreOne(LiveJob& job, Runs& runs) {
  JobRecord& record = job.record;
  if (record.untrusted && !TrustAgain(job, runs)) return;
  parts_.state.board.Put(record);
  const bool waits = record.phase == Phase::kWaiting || record.phase == Phase::kHeld;
  if (record.paused && waits && !parts_.pauses.FindAgain(job, runs)) {
    record.paused = false;
    record.note = "its process was gone when the server came back; it begins anew";
    parts_.journal.Touch(job);
  }
  if (record.phase == Phase::kWaiting) return parts_.queue.EnqueueIfItFits(job);
  if (record.phase == Phase::kHeld) return RestoreHeld(job);

  // The youngest attempt that is there. Killed in the middle of a move, or of several, that is an
  // earlier one than was decided on, and it is on its way out.
  auto run = runs.upper_bound({record.number, record.attempt});
  if (run != runs.begin() && (--run)->first.job == record.number) {
    if (run->first.attempt != record.attempt) record.phase = Phase::kStopping;
    RestoreRun(job, run->second);
    runs.erase(run);
    return;
  }
  RestoreLost(job);
}

// Decided but never started, or the machine went down.
void Restorer::RestoreLost(LiveJob& job) {
  JobRecord& record = job.record;
  record.paused = false;
  if (record.cancelled) {
    record.phase = Phase::kCancelled;
    record.note = core::InWords(*record.cancelled);
  } else if (record.asked.requeue || record.phase == Phase::kStarting) {
    const bool ran = record.phase != Phase::kStarting;
    record.phase = Phase::kWaiting;
    record.note = "it was not running any more when the server came back; queued again";
    if (ran) CountLost(record);
    if (record.phase == Phase::kWaiting) parts_.queue.EnqueueIfItFits(job);
  } else {
    record.phase = Phase::kFailed;
    record.note = "it was not running any more when the server came back";
  }
  if (core::IsOver(record.phase)) record.ended = parts_.journal.Wall();
  const bool again = record.phase == Phase::kWaiting;
  parts_.journal.Emit(fmt::format("job.{}", again ? "requeued" : core::NameOf(record.phase)),
                      record.number,
                      fmt::format("job {} is {}", record.number, core::NameOf(record.phase)));
  parts_.journal.Touch(job);
}

// Its run's folder is root's alone: what that says of a job is believed. Without one the job is
// held, whatever its record says.
bool Restorer::TrustAgain(LiveJob& job, const Runs& runs) {
  JobRecord& record = job.record;
  auto run = runs.upper_bound({record.number, record.attempt});
  const bool found = run != runs.begin() && (--run)->first.job == record.number;
  const bool runs_now = found && record.phase != Phase::kHeld && record.phase != Phase::kWaiting &&
                        !core::IsOver(record.phase);
  if (runs_now) {
    record.user = run->second.user;
    record.asked = run->second.asked;
    record.untrusted = false;
    record.hold = std::nullopt;
    parts_.journal.Touch(job);
    return true;
  }
  core::hold::Untrusted changed;
  if (record.hold) {
    if (const auto* seen = std::get_if<core::hold::Untrusted>(&*record.hold)) changed = *seen;
  }
  changed.runs_as.clear();
  if (parts_.user_name) {
    const std::string name = parts_.user_name(record.user.uid);
    if (name != record.user.name) changed.runs_as = name;
  }
  core::SetHold(record, changed);
  record.asked.held = true;
  const std::string words = fmt::format(
      "somebody else may have changed job {} in the database: it is held until root releases it",
      record.number);
  parts_.journal.EmitAndLog("job.held", record.number, words);
  parts_.journal.Touch(job);
  return false;
}

void Restorer::RestoreHeld(LiveJob& job) {
  JobRecord& record = job.record;
  parts_.admission.AddDependent(record);
  // While nobody knows whether it may start it stays as it is, and is looked at again: all of
  // those, once the store does not answer.
  if (!look_again_.empty()) return look_again_.push_back(record.number);
  const auto failed = parts_.admission.FailedBefore(record, parts_.journal.next_number());
  if (!failed) return look_again_.push_back(record.number);
  // Who held it by hand, or by a rule, has said why.
  if (!record.asked.held || !record.hold) core::SetHold(record, parts_.admission.HoldOf(record));
  if (*failed) {
    core::EndCancelled(record, core::cancelled::ByJobBefore{**failed}, parts_.journal.Wall());
    parts_.journal.Emit("job.cancelled", record.number,
                        fmt::format("job {}: {}", record.number, record.note));
  } else if (record.phase == Phase::kWaiting) {
    parts_.queue.EnqueueIfItFits(job);
  } else {
    return;
  }
  parts_.journal.Touch(job);
}

bool Restorer::LookAgain() {
  for (const std::int64_t number : std::exchange(look_again_, {})) {
    LiveJob* job = parts_.state.live.Find(number);
    if (job != nullptr && job->record.phase == Phase::kHeld) RestoreHeld(*job);
  }
  return look_again_.empty();
}

void Restorer::RestoreRun(LiveJob& job, const engine::RunRequest& run) {
  JobRecord& record = job.record;
  const bool older = run.id.attempt != record.attempt;
  const auto& given = older ? run.gpus : record.gpus;
  core::Allocation where;
  where.cores = record.cores;
  where.sm_share = run.thread_share.value_or(1);  // what its process was started with
  where.guest_memory = run.guest_memory;
  for (const core::GivenGpu& gpu : given) {
    if (const auto here = parts_.state.gpus.WithUuid(gpu.uuid)) where.gpus.push_back(*here);
  }
  std::sort(where.gpus.begin(), where.gpus.end());
  job.adopted = true;
  job.terms = run.terms;
  core::Job seated = parts_.queue.NextJob(job);
  const bool here = where.gpus.size() == given.size();
  const bool full = std::any_of(where.gpus.begin(), where.gpus.end(), [&](core::GpuId gpu) {
    return parts_.state.snapshot.residents(gpu).count() >= core::kMaxJobsOnGpu;
  });
  if (here == record.gpu_gone) {
    record.gpu_gone = !here;
    record.note = here ? "" : "its GPU is not here any more; it runs on";
    parts_.journal.Touch(job);
  }
  if (!here || full) {
    // Its GPU is not here now (another --gpus, a driver that does not answer). It runs on all the
    // same, and is counted for its cores alone.
    job.queue_anew = true;
    seated.gpus = 0;
    where.gpus.clear();
  }
  if (where.gpus.empty()) where.node = core::NodeId(0);
  const core::Estimate estimate = parts_.advisor.EstimateOf(record);
  parts_.loop.Seat(std::move(seated), estimate, where);
  parts_.engine.Adopt(job.id, run, RequestOf(record));
  parts_.paces.SetPace(job, estimate, where.gpus);
  if (record.cancelled && std::holds_alternative<core::cancelled::ByUser>(*record.cancelled)) {
    parts_.engine.Cancel(job.id);
  } else if (record.paused && record.phase == Phase::kStopping) {
    parts_.pauses.SetGpuMemory(job);
    parts_.engine.Pause(job.id);  // it may have come far, or not have begun
  } else if (record.paused) {
    parts_.engine.ResumeFound(job.id);
  } else if (record.phase == Phase::kStopping && !record.cancelled) {
    parts_.engine.Requeue(job.id);
  } else {  // also one that somebody else took over: it is not ours to end
    parts_.journal.Emit("job.found", record.number,
                        fmt::format("job {} was found again", record.number));
  }
}

}  // namespace sharewell::control
