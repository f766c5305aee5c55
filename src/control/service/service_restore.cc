// How a server comes to life: what the store knows, and what still runs.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "control/service/parts/run_end.h"
#include "control/service/service_impl.h"
#include "core/result.h"
#include "core/text/words.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;
using core::Result;

namespace {

constexpr const char* kGpuIsGone = "its GPU is not here any more; it runs on";

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

Result<void> Service::Impl::Restore() {
  const core::UnixMillis today = options.clock->Wall();
  wall.Look(today, runner.Now());
  {
    const platform::MutexLock lock(view_mutex);
    view.since = today;
  }

  auto last_number = jobs.LastNumber();
  RETURN_IF_ERROR(last_number);
  auto last_event = jobs.LastEvent();
  RETURN_IF_ERROR(last_event);
  auto drained = jobs.Kept("drained");
  RETURN_IF_ERROR(drained);
  store::JobFilter over;
  over.phases = {Phase::kFinished, Phase::kFailed, Phase::kCancelled};
  over.most = 2000;
  over.most_bytes = std::size_t{64} << 20;  // what the board holds
  auto old = jobs.Jobs(over);
  RETURN_IF_ERROR(old);
  store::JobFilter not_over;
  not_over.phases = {Phase::kHeld, Phase::kWaiting, Phase::kStarting, Phase::kRunning,
                     Phase::kStopping};
  not_over.most = std::numeric_limits<std::int32_t>::max();
  auto records = jobs.Jobs(not_over);
  RETURN_IF_ERROR(records);

  wall.BeginAfter(YoungestTime(*old, *records).value_or(today));
  next_number = *last_number + 1;
  outbox.ContinueAfter(*last_event);
  gpus.ReadDrained(drained->value_or(""));
  snapshot.AdvanceTo(runner.Now());
  const policy::Policy& policy = advisor.Policy();
  policy_name = policy.Name();
  loop.emplace(snapshot, policy, engine, *this, *this);
  loop->Watch(paces.guard(), paces);
  RestoreUsage(*old, *records);
  for (JobRecord& record : *old) board.Put(std::move(record));

  std::map<engine::RunId, engine::RunRequest> runs;
  for (engine::RunRequest& run : runner.Recover()) {
    const engine::RunId id = run.id;
    runs.emplace(id, std::move(run));
  }
  if (runner.HasUsers()) RETURN_IF_ERROR(AdoptForeign(runs, *records));
  std::sort(records->begin(), records->end(),
            [](const JobRecord& a, const JobRecord& b) { return a.number < b.number; });
  std::vector<std::int64_t> numbers;
  for (JobRecord& record : *records) {  // all, before one looks for another
    numbers.push_back(record.number);
    live.Add(std::move(record));
  }
  records->clear();
  records->shrink_to_fit();  // with tens of thousands in the queue they are a good part of memory
  for (const std::int64_t number : numbers) RestoreOne(*live.Find(number), runs);
  for (const std::int64_t number : numbers) {
    const LiveJob* job = live.Find(number);
    const Phase phase = job == nullptr ? Phase::kFinished : job->record.phase;
    if (phase == Phase::kWaiting || phase == Phase::kHeld) runner.Expect(number);
  }
  // Whose job is over, or was started anew: what is left of such a run has no owner.
  for (const auto& [id, run] : runs) {
    runner.Stop(id, core::Seconds(0));
    outbox.AddEnded(id);
  }
  SeatReservations();
  if (options.say && !numbers.empty()) {
    const auto run = std::count_if(numbers.begin(), numbers.end(), [&](std::int64_t number) {
      const LiveJob* job = live.Find(number);
      return job != nullptr && job->record.phase == Phase::kRunning;
    });
    options.say(fmt::format("{} found again, {} of them running",
                            core::Count(numbers.size(), "job was", "jobs were"), run));
  }
  // What cannot be stored or read now is tried again with the first turn.
  if (!CommitAll() || !look_again.empty()) loop->TurnBy(runner.Now());
  return {};
}

void Service::Impl::RestoreUsage(const std::vector<JobRecord>& over,
                                 const std::vector<JobRecord>& live_ones) {
  const auto add = [&](const JobRecord& record, core::Seconds ran, core::UnixMillis until) {
    const core::Seconds ago(static_cast<double>(std::max<core::UnixMillis>(Wall() - until, 0)) /
                            1e3);
    const double used = ran.value * record.asked.gpus;
    if (used <= 0) return;
    snapshot.AddUsage(live.UserIdOf(record.user.name),
                      used * std::pow(2, -(ago / core::kUsageHalfLife)));
  };
  for (const JobRecord& record : over) add(record, record.run_time, record.ended.value_or(0));
  for (const JobRecord& record : live_ones) {
    const core::UnixMillis began = record.resumed.value_or(Wall());
    add(record, record.run_time, began);
    if (record.phase != Phase::kRunning) continue;
    add(record, core::Seconds(static_cast<double>(Wall() - began) / 1e3), Wall());
  }
}

void Service::Impl::RestoreOne(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs) {
  JobRecord& record = job.record;
  if (record.untrusted && !TrustAgain(job, runs)) return;
  board.Put(record);
  const bool waits = record.phase == Phase::kWaiting || record.phase == Phase::kHeld;
  if (record.paused && waits && !RestorePaused(job, runs)) {
    record.paused = false;
    record.note = "its process was gone when the server came back; it begins anew";
    outbox.Touch(job);
  }
  if (record.phase == Phase::kWaiting) return EnqueueIfItFits(job);
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
  // Decided but never started, or the machine went down.
  record.paused = false;
  if (record.cancelled) {
    record.phase = Phase::kCancelled;
    record.note = record.reason;  // by whom
  } else if (record.asked.requeue || record.phase == Phase::kStarting) {
    const bool ran = record.phase != Phase::kStarting;
    record.phase = Phase::kWaiting;
    record.note = "it was not running any more when the server came back; queued again";
    if (ran) CountLost(record);
    if (record.phase == Phase::kWaiting) EnqueueIfItFits(job);
  } else {
    record.phase = Phase::kFailed;
    record.note = "it was not running any more when the server came back";
  }
  if (core::IsOver(record.phase)) record.ended = Wall();
  const bool again = record.phase == Phase::kWaiting;
  Say(fmt::format("job.{}", again ? "requeued" : core::NameOf(record.phase)).c_str(), record.number,
      fmt::format("job {} is {}", record.number, core::NameOf(record.phase)));
  outbox.Touch(job);
}

// Its run's folder is root's alone: what that says of a job is believed. Without one the job is
// held, whatever its record says.
bool Service::Impl::TrustAgain(LiveJob& job,
                               const std::map<engine::RunId, engine::RunRequest>& runs) {
  JobRecord& record = job.record;
  auto run = runs.upper_bound({record.number, record.attempt});
  const bool found = run != runs.begin() && (--run)->first.job == record.number;
  const bool runs_now = found && record.phase != Phase::kHeld && record.phase != Phase::kWaiting &&
                        !core::IsOver(record.phase);
  if (runs_now) {
    record.user = run->second.user;
    record.asked = run->second.asked;
    record.untrusted = false;
    outbox.Touch(job);
    return true;
  }
  record.phase = Phase::kHeld;
  record.asked.held = true;
  record.reason = fmt::format(
      "held: its record was not written by this server, so as whom it should run is "
      "not known (somebody changed the database, or the store is older than seals are); "
      "root can look at it with `sharewell job {0}` and then release or cancel it",
      record.number);
  const std::string words = fmt::format(
      "somebody else may have changed job {} in the database: it is held until root releases it",
      record.number);
  Say("job.held", record.number, words);
  if (options.say) options.say(words);
  outbox.Touch(job);
  return false;
}

void Service::Impl::RestoreHeld(LiveJob& job) {
  JobRecord& record = job.record;
  admission.AddDependent(record);
  // While nobody knows whether it may start it stays as it is, and is looked at again: all of
  // those, once the store does not answer.
  if (!look_again.empty()) return look_again.push_back(record.number);
  const auto failed = admission.FailedBefore(record, next_number);
  if (!failed) return look_again.push_back(record.number);
  // Who held it by hand, or by a rule, has said why.
  if (!record.asked.held || record.reason.empty()) record.reason = admission.WhyHeld(record);
  if (*failed) {
    record.phase = Phase::kCancelled;
    record.ended = Wall();
    record.note = fmt::format("job {}, which it was to come after, did not finish well", **failed);
    Say("job.cancelled", record.number, fmt::format("job {}: {}", record.number, record.note));
  } else if (record.reason.empty()) {
    record.phase = Phase::kWaiting;
    EnqueueIfItFits(job);
  } else {
    return;
  }
  outbox.Touch(job);
}

void Service::Impl::LookAgain() {
  for (const std::int64_t number : std::exchange(look_again, {})) {
    LiveJob* job = live.Find(number);
    if (job != nullptr && job->record.phase == Phase::kHeld) RestoreHeld(*job);
  }
}

void Service::Impl::RestoreRun(LiveJob& job, const engine::RunRequest& run) {
  JobRecord& record = job.record;
  const bool older = run.id.attempt != record.attempt;
  const auto& given = older ? run.gpus : record.gpus;
  core::Allocation where;
  where.cores = record.cores;
  where.sm_share = run.thread_share.value_or(1);  // what its process was started with
  for (const core::GivenGpu& gpu : given) {
    if (const auto here = gpus.WithUuid(gpu.uuid)) where.gpus.push_back(*here);
  }
  std::sort(where.gpus.begin(), where.gpus.end());
  core::Job seated = JobOf(record, live.GiveId(job));
  job.adopted = true;
  job.terms = run.terms;
  PutTerms(job, seated);
  const bool here = where.gpus.size() == given.size();
  const bool full = std::any_of(where.gpus.begin(), where.gpus.end(), [&](core::GpuId gpu) {
    return snapshot.residents(gpu).count() >= core::kMaxJobsOnGpu;
  });
  if (here == (record.note == kGpuIsGone)) {
    record.note = here ? "" : kGpuIsGone;
    outbox.Touch(job);
  }
  if (!here || full) {
    // Its GPU is not here now (another --gpus, a driver that does not answer). It runs on all the
    // same, and is counted for its cores alone.
    job.queue_anew = true;
    seated.gpus = 0;
    where.gpus.clear();
  }
  if (where.gpus.empty()) where.node = core::NodeId(0);
  const core::Estimate estimate = advisor.EstimateOf(record);
  loop->Seat(std::move(seated), estimate, where);
  engine.Adopt(job.id, run, RequestOf(record));
  paces.TellPace(job, estimate, where.gpus);
  if (record.cancelled && record.reason.starts_with(kCancelledBy)) {
    engine.Cancel(job.id);
  } else if (record.paused && record.phase == Phase::kStopping) {
    TellGpuMemory(job);
    engine.Pause(job.id);  // it may have come far, or not have begun
  } else if (record.paused) {
    engine.ResumeFound(job.id);
  } else if (record.phase == Phase::kStopping && !record.cancelled) {
    engine.Requeue(job.id);
  } else {  // also one that somebody else took over: it is not ours to end
    Say("job.found", record.number, fmt::format("job {} was found again", record.number));
  }
}

}  // namespace sharewell::control
