// What became of runs: their ends, their paces, and what is learnt from them.
#include <algorithm>
#include <utility>

#include "control/service/parts/eviction_words.h"
#include "control/service/parts/plan_records.h"
#include "control/service/parts/run_end.h"
#include "control/service/parts/time_given.h"
#include "control/service/service_impl.h"
#include "core/sm_share.h"
#include "estimate/seen_needs.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

constexpr core::Seconds kLookEvery(1);
constexpr core::Seconds kShowSeenEvery(5);  // a look at all that was seen of a job takes a while

core::SeenFigures SeenOf(const core::Profile& seen, int gpus) {
  core::SeenFigures out;
  if (seen.cpu_cores) out.cores = *seen.cpu_cores * std::max(gpus, 1);
  out.busy = seen.busy;
  out.sm = seen.sm;
  out.gpu_memory = seen.gpu_memory;
  if (seen.host_memory) out.host_memory = *seen.host_memory * std::max(gpus, 1);
  out.power = seen.power;
  return out;
}

}  // namespace

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
  LookAtPaces();
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
  if (record.phase == Phase::kFinished && !record.asked.terminal) LearnRun(*job);
  if (record.phase == Phase::kWaiting && job->id.valid() &&
      (record.evicted >= kEvictionsAlone || end.end.fall ||
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

void Service::Impl::LearnRun(const LiveJob& job) {
  core::Profile profile = monitor != nullptr ? monitor->Seen(job.record.number) : core::Profile{};
  if (!profile.steps_per_second) {
    // Its own mean, where nobody was beside it.
    if (const auto alone = guard.PaceOf(job.id).alone) {
      profile.steps_per_second = alone;
    } else if (job.alone && job.record.sm_share >= 1 && job.record.steps &&
               job.record.run_time.value > 1) {
      profile.steps_per_second = *job.record.steps / job.record.run_time.value;
    }
  }
  if (job.record.sm_share < 1 && !job.record.asked.sm_share)
    profile = estimate::WithoutPace(profile);
  if (profile.gpu.empty() && !job.record.gpus.empty()) profile.gpu = job.record.gpus.front().model;
  advisor.LearnRun(job.record, profile);
}

std::vector<Standing> Service::Impl::Standings() {
  std::vector<Standing> running;
  for (const core::JobId id : snapshot.running()) {
    LiveJob* job = live.Find(id);
    if (job == nullptr || job->record.phase != Phase::kRunning) continue;
    const core::JobView& now_there = snapshot.job(id);
    const auto& on = now_there.allocation.gpus;
    if (!JobsOn(on, id, snapshot, live).empty()) job->alone = false;
    Standing standing;
    standing.job = id;
    standing.gpus = on;
    standing.started = now_there.since;
    standing.user = now_there.job.user;
    standing.evicted = job->record.evicted;
    standing.steps = engine.StepsOf(id);
    standing.told_at = engine.StepsToldAt(id);
    standing.steps_alone = StepsByProfile(job->record);
    standing.max_slowdown = now_there.job.max_slowdown.value_or(options.max_slowdown);
    standing.run_time = snapshot.run_time(now_there) - now_there.startup;
    standing.alone_time = snapshot.alone_time(now_there);
    standing.left = snapshot.remaining(now_there);
    standing.sm_share = now_there.allocation.sm_share;
    standing.own_share = core::InsistedShare(now_there).has_value();
    if (standing.sm_share < 1 && !on.empty() && !now_there.estimate.on.empty()) {
      const core::Demand& demand = now_there.estimate.On(cluster.ModelOf(on.front())).demand;
      standing.share_speed = advisor.SpeedWithShare(demand, standing.sm_share);
    }
    if (monitor != nullptr && job->record.gpus.size() == 1) {
      const core::GivenGpu& gpu = job->record.gpus.front();
      const JobReading reading = monitor->Now(job->record.number, gpu.uuid);
      standing.sm = reading.sm;
      standing.sm_alone = estimate::SmAlone(job->record.believed, gpu.model, reading.gpu_memory);
    }
    running.push_back(std::move(standing));
  }
  std::sort(running.begin(), running.end(),
            [](const Standing& a, const Standing& b) { return a.job < b.job; });
  return running;
}

void Service::Impl::LookAtPaces() {
  const core::Seconds now = snapshot.now();
  const auto running_ids = snapshot.running();
  const bool any = std::any_of(running_ids.begin(), running_ids.end(), [&](core::JobId id) {
    return !snapshot.job(id).allocation.gpus.empty() && live.Find(id) != nullptr;
  });
  // Steps are seen as often as they are looked at, and a turn comes only when something happens.
  if (any) loop->TurnBy(std::max(now, looked) + kLookEvery);
  if (now < looked + kLookEvery) return;
  const core::Seconds passed = now - std::exchange(looked, now);
  const std::vector<Standing> running = Standings();
  const Verdict verdict = guard.Look(now, running);
  for (const Standing& standing : running) {
    const Pace pace = guard.PaceOf(standing.job);
    TellPace(*live.Find(standing.job), snapshot.job(standing.job).estimate, standing.gpus);
    ExtendLimit(*live.Find(standing.job), standing, passed);
    JobRecord& record = live.Find(standing.job)->record;
    const bool show = monitor != nullptr && now >= shown_seen + kShowSeenEvery;
    if (show) record.seen = SeenOf(monitor->Seen(record.number), record.asked.gpus);
    if (!standing.steps && !pace.slowdown && !show) continue;
    record.steps = standing.steps;
    record.steps_per_second = pace.steps_per_second;
    record.slowdown = pace.slowdown;
    board.Put(record);
  }
  if (now >= shown_seen + kShowSeenEvery) shown_seen = now;
  LearnPairs(verdict.pairs);
  for (const Eviction& eviction : verdict.leave) Evict(eviction);
  for (const Eviction& stays : verdict.stay) {
    LiveJob& slowed = *live.Find(stays.slowed);
    slowed.record.note = WhyItStays(stays, live);
    outbox.Touch(slowed);
  }
}

// No job runs into its time limit because others were put beside it.
void Service::Impl::ExtendLimit(LiveJob& job, const Standing& standing, core::Seconds passed) {
  JobRecord& record = job.record;
  if (!record.asked.time_limit) return;
  TimeBeside beside;
  beside.passed = std::min(passed, snapshot.now() - standing.started);
  beside.others = !JobsOn(standing.gpus, standing.job, snapshot, live).empty();
  beside.slowdown = guard.PaceOf(standing.job).slowdown;
  beside.most = standing.max_slowdown * options.guard.margin;
  if (standing.sm_share < 1) beside.share_speed = standing.share_speed;
  beside.limited = standing.sm_share < 1;
  beside.own_share = standing.own_share;
  job.limit_told = std::min(job.limit_told, record.limit_extended);  // of an earlier attempt
  record.limit_extended = Extended(*record.asked.time_limit, record.limit_extended, beside);
  constexpr core::Seconds kWorthTelling(1), kWorthStoring(10);
  if (record.limit_extended - job.limit_told < kWorthTelling) return;
  engine.SetTimeLimit(job.id, *record.asked.time_limit + record.limit_extended);
  const auto stored = [&](core::Seconds extended) {
    return static_cast<std::int64_t>(extended / kWorthStoring);
  };
  if (stored(job.limit_told) != stored(record.limit_extended)) outbox.Touch(job);
  job.limit_told = record.limit_extended;
}

void Service::Impl::LearnPairs(const std::vector<MeasuredPair>& pairs) {
  for (const MeasuredPair& pair : pairs) {
    const LiveJob *a = live.Find(pair.a), *b = live.Find(pair.b);
    if (a == nullptr || b == nullptr || a->record.gpus.empty()) continue;
    const core::SharedRun run{a->record.gpus.front().model,
                              core::WorkloadKey(a->record.asked),
                              core::WorkloadKey(b->record.asked),
                              pair.speed_a,
                              pair.speed_b,
                              true,
                              Wall(),
                              pair.sm_share_a,
                              pair.sm_share_b};
    outbox.AddShared(run);
    advisor.LearnShared(run);
  }
  if (!pairs.empty()) loop->Follow(advisor.Policy());
}

// Stored before it is acted on: a server that is killed in between must know that it asked.
void Service::Impl::Evict(const Eviction& eviction) {
  const LiveJob* job = live.Find(eviction.job);
  if (job == nullptr || job->record.phase != Phase::kRunning) return;
  const auto& on = snapshot.job(eviction.job).allocation.gpus;
  JobRecord record = job->record;
  ++record.evicted;
  record.phase = Phase::kStopping;
  const EvictionWords words = WhyEvicted(eviction, JobsOn(on, eviction.job, snapshot, live),
                                         record.evicted >= kEvictionsAlone, live);
  record.reason = words.reason;
  record.note = words.note;
  store::JobChanges changes;
  changes.events.push_back({0, Wall(), "job.parted", record.number,
                            fmt::format("job {}: {}", record.number, record.note)});
  changes.jobs.push_back(std::move(record));
  if (Commit(std::move(changes))) engine.Requeue(eviction.job);
}

}  // namespace sharewell::control
