// What became of runs: their ends, their paces, and what is learnt from them.
#include <algorithm>
#include <utility>

#include "control/loop/seen_needs.h"
#include "control/service/parts/plan_records.h"
#include "control/service/parts/run_end.h"
#include "control/service/service_impl.h"

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
  for (const engine::RunEvent& note : engine.TakeNotes()) TakeNote(note);
  for (const engine::Ended& end : engine.TakeEnded()) TakeEnd(end);
}

void Service::Impl::AfterTurn() {
  TakeNews();  // of what the plan changed
  LookAtPaces();
}

void Service::Impl::TakeNote(const engine::RunEvent& note) {
  using Kind = engine::RunEvent::Kind;
  if (note.kind == Kind::kGpuLost || note.kind == Kind::kGpuBack) return TakeGpuNote(note);
  if (note.kind == Kind::kNodeCame || note.kind == Kind::kNodeWent) return TakeNodeNote(note);
  if (note.id.job == 0) return Say("gpu.note", 0, note.message);  // of the machine, of no run
  LiveJob* job = live.Find(note.id.job);
  if (job == nullptr || job->record.attempt != note.id.attempt) return;
  JobRecord& record = job->record;
  if (note.kind == Kind::kNote) {
    record.note = note.message;
  } else if (note.kind == Kind::kTimeIsOver) {
    if (record.phase != Phase::kRunning && record.phase != Phase::kStarting) return;
    record.phase = Phase::kStopping;
    record.reason = TimeIsOver(record);
    Say("job.stopping", record.number, fmt::format("job {}: {}", record.number, record.reason));
  } else if (note.kind == Kind::kStarted) {
    job->alone = record.beside.empty();
    if (monitor != nullptr) monitor->Began(record);
    if (record.phase != Phase::kStarting) return;  // it ran before this server did
    record.phase = Phase::kRunning;
    record.resumed = Wall();
    if (!record.started) {
      record.started = record.resumed;
      const core::UnixMillis waited =
          std::max<core::UnixMillis>(*record.started - record.submitted, 0);
      tally.CountWait(core::Seconds(static_cast<double>(waited) / 1e3));
    }
    Say("job.started", record.number, fmt::format("job {} runs", record.number));
  }
  outbox.Touch(*job);
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
  WriteEnd(end, Wall(), record);
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
      (record.evicted >= kEvictionsAlone || std::exchange(job->elsewhere, false))) {
    // Into the queue as another one: what it may and needs is not what it was seated with.
    engine.Withdraw(live.TakeId(*job));
    EnqueueIfItFits(*job);
  }
  const std::string words = EndInWords(end.end, record);
  Say(fmt::format("job.{}", over || held ? core::NameOf(record.phase) : "requeued").c_str(),
      record.number,
      fmt::format("job {} {}{}{}", record.number,
                  over   ? core::NameOf(record.phase)
                  : held ? "is held"
                         : "is back in the queue",
                  record.exit_code ? fmt::format(", exit code {}", *record.exit_code) : "",
                  words.empty() ? "" : ": " + words));
  outbox.Touch(*job);
}

void Service::Impl::LearnRun(const LiveJob& job) {
  core::Profile profile = monitor != nullptr ? monitor->Seen(job.record.number) : core::Profile{};
  if (!profile.steps_per_second) {
    // Its own mean, where nobody was beside it.
    if (const auto alone = guard.PaceOf(job.id).alone) {
      profile.steps_per_second = alone;
    } else if (job.alone && job.record.steps && job.record.run_time.value > 1) {
      profile.steps_per_second = *job.record.steps / job.record.run_time.value;
    }
  }
  if (job.record.sm_share < 1 && !job.record.asked.sm_share) profile = WithoutPace(profile);
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
    standing.steps = engine.StepsOf(id);
    standing.steps_alone = StepsByProfile(job->record);
    standing.max_slowdown = now_there.job.max_slowdown.value_or(options.max_slowdown);
    standing.run_time = snapshot.run_time(now_there) - now_there.startup;
    standing.alone_time = snapshot.alone_time(now_there);
    standing.left = snapshot.remaining(now_there);
    if (monitor != nullptr && job->record.gpus.size() == 1) {
      const core::GivenGpu& gpu = job->record.gpus.front();
      const JobReading reading = monitor->Now(job->record.number, gpu.uuid);
      standing.sm = reading.sm;
      standing.sm_alone = SmAlone(job->record.believed, gpu.model, reading.gpu_memory);
    }
    running.push_back(std::move(standing));
  }
  std::sort(running.begin(), running.end(),
            [](const Standing& a, const Standing& b) { return a.job < b.job; });
  return running;
}

void Service::Impl::LookAtPaces() {
  const core::Seconds now = snapshot.now();
  if (now < looked + kLookEvery) return;
  looked = now;
  const std::vector<Standing> running = Standings();
  const Verdict verdict = guard.Look(now, running);
  for (const Standing& standing : running) {
    const Pace pace = guard.PaceOf(standing.job);
    TellPace(*live.Find(standing.job), snapshot.job(standing.job).estimate, standing.gpus);
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
  for (const core::JobId id : verdict.leave) Evict(id);
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
                              a->record.sm_share,
                              b->record.sm_share};
    outbox.AddShared(run);
    advisor.LearnShared(run);
  }
  if (!pairs.empty()) loop->Follow(advisor.Policy());
}

// Stored before it is acted on: a server that is killed in between must know that it asked.
void Service::Impl::Evict(core::JobId id) {
  const LiveJob* job = live.Find(id);
  if (job == nullptr || job->record.phase != Phase::kRunning) return;
  JobRecord record = job->record;
  ++record.evicted;
  record.phase = Phase::kStopping;
  record.reason = "evicted, as it and its neighbours slow each other; it goes back into the queue";
  if (record.asked.terminal) {
    record.reason = "ended, as it and its neighbours slow each other";
  }
  record.note =
      "it and its neighbours slowed each other beyond the bound (measured); it goes back into the "
      "queue and will not be put beside them again";
  store::JobChanges changes;
  changes.events.push_back({0, Wall(), "job.parted", record.number,
                            fmt::format("job {}: {}", record.number, record.note)});
  changes.jobs.push_back(std::move(record));
  if (Commit(std::move(changes))) engine.Requeue(id);
}

}  // namespace sharewell::control
