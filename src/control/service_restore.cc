// How a server comes to life: what the store knows, and what still runs.
#include <algorithm>
#include <limits>
#include <utility>

#include "control/sampler.h"
#include "control/service_inside.h"
#include "core/result.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;
using core::Result;

Result<void> Service::Impl::Restore() {
  // The runner's clock does not jump; the wall's is looked at once.
  const core::UnixMillis wall = SystemClock().Wall();
  wall_at_zero = wall - static_cast<core::UnixMillis>(runner.Now().value * 1e3);
  view.since = wall;

  auto last_number = jobs.LastNumber();
  RETURN_IF_ERROR(last_number);
  auto last_event = jobs.LastEvent();
  RETURN_IF_ERROR(last_event);
  auto drained = jobs.Kept("drained");
  RETURN_IF_ERROR(drained);
  store::JobFilter over;
  over.phases = {Phase::kFinished, Phase::kFailed, Phase::kCancelled};
  over.most = 2000;
  auto old = jobs.Jobs(over);
  RETURN_IF_ERROR(old);
  store::JobFilter not_over;
  not_over.phases = {Phase::kHeld, Phase::kWaiting, Phase::kStarting, Phase::kRunning,
                     Phase::kStopping};
  not_over.most = std::numeric_limits<std::int32_t>::max();
  auto records = jobs.Jobs(not_over);
  RETURN_IF_ERROR(records);

  next_number = *last_number + 1;
  next_event = *last_event + 1;
  for (GpuView& gpu : gpus) {
    gpu.drained = drained->value_or("").find(gpu.gpu.uuid + "\n") != std::string::npos;
  }
  snapshot.AdvanceTo(runner.Now());
  const policy::Policy& policy = advisor.Policy();
  policy_name = policy.Name();
  loop.emplace(snapshot, policy, engine, *this, *this);
  for (JobRecord& record : *old) board.Put(std::move(record));

  std::map<engine::RunId, engine::RunRequest> runs;
  for (engine::RunRequest& run : runner.Recover()) {
    const engine::RunId id = run.id;
    runs.emplace(id, std::move(run));
  }
  std::sort(records->begin(), records->end(),
            [](const JobRecord& a, const JobRecord& b) { return a.number < b.number; });
  for (JobRecord& record : *records) {
    Count(record, true);
    live[record.number].record = record;
  }
  for (const JobRecord& record : *records) RestoreOne(record, runs);
  // Whose job is over, or was started anew: what is left of such a run has no owner.
  for (const auto& [id, run] : runs) {
    runner.Stop(id, core::Seconds(0));
    ended.push_back(id);
  }
  SeatReservations();
  if (options.say && !records->empty()) {
    options.say(fmt::format("{} jobs were found again, {} of them running", records->size(),
                            snapshot.running().size()));
  }
  CommitAll();
  return {};
}

void Service::Impl::EnqueueIfItFits(Live& job) {
  if (auto fits = advisor.Check(job.record.asked); !fits) {
    job.record.phase = Phase::kHeld;
    job.record.asked.held = true;
    job.record.reason = "held, as this machine is not what it was: " + fits.error().message;
    return Touch(job);
  }
  Enqueue(job.record.number);
}

void Service::Impl::RestoreOne(const JobRecord& record,
                               std::map<engine::RunId, engine::RunRequest>& runs) {
  Live& job = live[record.number];
  board.Put(job.record);
  if (record.phase == Phase::kWaiting) return EnqueueIfItFits(job);
  if (record.phase == Phase::kHeld) {
    ComeAfter(record);
    job.record.reason = Waits(record);
    if (const auto failed = FailedBefore(record)) {
      job.record.phase = Phase::kCancelled;
      job.record.ended = Wall();
      job.record.note =
          fmt::format("job {}, which it was to come after, did not finish well", *failed);
      Say("job.cancelled", record.number,
          fmt::format("job {}: {}", record.number, job.record.note));
    } else if (job.record.reason.empty()) {
      job.record.phase = Phase::kWaiting;
      EnqueueIfItFits(job);
    } else {
      return;
    }
    return Touch(job);
  }

  auto run = runs.find({record.number, record.attempt});
  // Killed in the middle of a move: the attempt before is the one that runs. It is on its way out.
  const bool older = run == runs.end() && record.attempt > 1 &&
                     (run = runs.find({record.number, record.attempt - 1})) != runs.end();
  if (older) job.record.phase = Phase::kStopping;
  core::Allocation where;
  where.cores = record.cores;
  const auto& given_gpus = older ? run->second.gpus : record.gpus;
  for (const core::GivenGpu& given : given_gpus) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const GpuView& here) { return here.gpu.uuid == given.uuid; });
    if (gpu != gpus.end()) where.gpus.emplace_back(gpu - gpus.begin());
  }
  std::sort(where.gpus.begin(), where.gpus.end());
  if (run != runs.end()) {
    job.id = core::JobId(number_of.size());
    job.adopted = true;
    number_of.push_back(record.number);
    core::Job seated = JobOf(record, job.id);
    if (where.gpus.size() != given_gpus.size()) {
      // Its GPU is not here now (another --gpus, a driver that does not answer). It runs on all the
      // same, and is counted for its cores alone.
      job.elsewhere = true;
      seated.gpus = 0;
      where.gpus.clear();
      job.record.note = "its GPU is not here any more; it runs on";
      Touch(job);
    }
    if (where.gpus.empty()) where.node = core::NodeId(0);
    loop->Seat(std::move(seated), advisor.EstimateOf(record), where);
    engine.Adopt(job.id, run->second);
    runs.erase(run);
    if (record.cancelled) {
      engine.Cancel(job.id);
    } else if (job.record.phase == Phase::kStopping) {
      engine.Requeue(job.id);
    } else {
      Say("job.found", record.number, fmt::format("job {} was found again", record.number));
    }
    return;
  }
  // Decided but never started, or the machine went down.
  if (record.cancelled) {
    job.record.phase = Phase::kCancelled;
    job.record.note = record.reason;  // by whom
  } else if (record.asked.requeue || record.phase == Phase::kStarting) {
    job.record.phase = Phase::kWaiting;
    job.record.note = "it was not running any more when the server came back; queued again";
    EnqueueIfItFits(job);
  } else {
    job.record.phase = Phase::kFailed;
    job.record.note = "it was not running any more when the server came back";
  }
  if (core::IsOver(job.record.phase)) job.record.ended = Wall();
  Say("job.requeued", record.number,
      fmt::format("job {} is {}", record.number, core::NameOf(job.record.phase)));
  Touch(job);
}

}  // namespace sharewell::control
