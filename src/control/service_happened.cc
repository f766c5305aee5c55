// What became of runs: their ends, their paces, and what is learnt from them.
#include <algorithm>
#include <utility>

#include "control/seen_needs.h"
#include "control/service_inside.h"
#include "core/numbers/statistics.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

constexpr core::Seconds kLookEvery(1);
constexpr int kAboveAll = 1'000'000'000;

std::string TimeOver(const JobRecord& record) {
  return fmt::format("its time limit ({} s) is over",
                     record.asked.time_limit.value_or(core::Seconds(0)).value);
}

std::string EndInWords(const engine::RunEnd& end, const JobRecord& record) {
  if (!end.message.empty()) return end.message;
  if (end.timed_out) return TimeOver(record);
  if (end.lost) return "the machine or its supervisor went down under it";
  if (end.signal != 0) return fmt::format("ended by signal {}", end.signal);
  return {};
}

}  // namespace

void Service::Impl::AfterTurn() {
  for (const engine::RunEvent& note : engine.TakeNotes()) TakeNote(note);
  for (const engine::Ended& end : engine.TakeEnded()) TakeEnd(end);
  LookAtPaces();
}

void Service::Impl::TakeNote(const engine::RunEvent& note) {
  using Kind = engine::RunEvent::Kind;
  if (note.kind == Kind::kGpuLost || note.kind == Kind::kGpuBack) {
    for (GpuView& gpu : gpus) {
      if (gpu.gpu.uuid != note.gpu) continue;
      gpu.problem = note.kind == Kind::kGpuLost ? note.message : std::string();
      Say(note.kind == Kind::kGpuLost ? "gpu.lost" : "gpu.back", 0,
          fmt::format("GPU {}: {}", gpu.gpu.index,
                      gpu.problem.empty() ? "it answers again" : gpu.problem));
    }
    return;
  }
  if (note.id.job == 0) return Say("gpu.note", 0, note.message);  // of the machine, of no run
  Live* job = Find(note.id.job);
  if (job == nullptr || job->record.attempt != note.id.attempt) return;
  JobRecord& record = job->record;
  if (note.kind == Kind::kNote) {
    record.note = note.message;
  } else if (note.kind == Kind::kEnding) {
    if (record.phase != Phase::kRunning && record.phase != Phase::kStarting) return;
    record.phase = Phase::kStopping;
    record.reason = TimeOver(record);
    Say("job.stopping", record.number, fmt::format("job {}: {}", record.number, record.reason));
  } else if (note.kind == Kind::kStarted) {
    job->alone = record.beside.empty();
    if (sight != nullptr) sight->Began(record);
    if (record.phase != Phase::kStarting) return;  // it ran before this server did
    record.phase = Phase::kRunning;
    record.resumed = Wall();
    if (!record.started) record.started = record.resumed;
    Say("job.started", record.number, fmt::format("job {} runs", record.number));
  }
  Touch(*job);
}

void Service::Impl::TakeEnd(const engine::Ended& end) {
  ended.push_back(end.run);
  Live* job = Find(end.run.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  JobRecord& record = job->record;
  const bool latest = record.attempt == end.run.attempt;
  if (latest && record.resumed) {
    record.run_time += end.end.ran
                           ? *end.end.ran
                           : core::Seconds(static_cast<double>(Wall() - *record.resumed) / 1e3);
  }
  if (latest && sight != nullptr) sight->Ended(record.number);
  const std::string words = EndInWords(end.end, record);
  switch (end.outcome) {
    case engine::Outcome::kFinished:
      record.phase = Phase::kFinished;
      break;
    case engine::Outcome::kFailed:
      record.phase = record.cancelled ? Phase::kCancelled : Phase::kFailed;
      if (!words.empty() && !record.cancelled) record.note = words;
      break;
    case engine::Outcome::kOutOfMemory:
      ++record.ooms;
      record.note = "it ran out of GPU memory beside others and is tried once more, alone";
      [[fallthrough]];
    case engine::Outcome::kRequeued:
      if (record.cancelled) {
        record.phase = Phase::kCancelled;
      } else if (latest || record.phase == Phase::kStopping) {
        record.phase = Phase::kWaiting;
      }
      if (record.phase == Phase::kWaiting && job->id.valid() &&
          (record.parted >= kPartedAlone || std::exchange(job->elsewhere, false))) {
        // Into the queue as another one: what it may and needs is not what it was seated with.
        engine.Withdraw(std::exchange(job->id, {}));
        EnqueueIfItFits(*job);
      }
      break;
  }
  if (record.phase == Phase::kCancelled) record.note = record.reason;  // by whom
  if (latest || core::IsOver(record.phase)) record.exit_code = end.end.exit_code;
  if (core::IsOver(record.phase)) {
    record.ended = Wall();
    if (job->id.valid()) {
      // Of one that was found again only the end was seen.
      if (!job->adopted) record.alone_time = snapshot.alone_time(snapshot.job(job->id));
      record.steps = engine.StepsOf(job->id) ? engine.StepsOf(job->id) : record.steps;
    }
    if (record.phase == Phase::kFinished) Learn(*job);
  }
  Say(fmt::format("job.{}", IsOver(record.phase) ? core::NameOf(record.phase) : "requeued").c_str(),
      record.number,
      fmt::format("job {} {}{}{}", record.number,
                  IsOver(record.phase) ? core::NameOf(record.phase) : "is back in the queue",
                  record.exit_code ? fmt::format(", exit code {}", *record.exit_code) : "",
                  words.empty() ? "" : ": " + words));
  Touch(*job);
}

void Service::Impl::Learn(const Live& job) {
  core::Profile profile = sight != nullptr ? sight->Seen(job.record.number) : core::Profile{};
  if (!profile.steps_per_second) {
    // Its own mean, where nobody was beside it.
    if (const auto alone = guard.PaceOf(job.id).alone) {
      profile.steps_per_second = alone;
    } else if (job.alone && job.record.steps && job.record.run_time.value > 1) {
      profile.steps_per_second = *job.record.steps / job.record.run_time.value;
    }
  }
  if (profile.gpu.empty() && !job.record.gpus.empty()) profile.gpu = job.record.gpus.front().model;
  advisor.LearnRun(job.record, profile);
}

void Service::Impl::LookAtPaces() {
  const core::Seconds now = snapshot.now();
  if (now < looked + kLookEvery) return;
  looked = now;
  std::vector<Standing> running;
  for (const core::JobId id : snapshot.running()) {
    Live* job = Find(id);
    if (job == nullptr || job->record.phase != Phase::kRunning) continue;
    const core::JobView& now_there = snapshot.job(id);
    const auto& on = now_there.allocation.gpus;
    if (!Beside(on, id).empty()) job->alone = false;
    Standing standing;
    standing.job = id;
    standing.gpus = on;
    standing.started = now_there.since;
    standing.steps = engine.StepsOf(id);
    standing.steps_alone = StepsByProfile(*job);
    standing.max_slowdown = now_there.job.max_slowdown.value_or(options.max_slowdown);
    standing.run_time = snapshot.run_time(now_there) - now_there.startup;
    standing.alone_time = snapshot.alone_time(now_there);
    standing.left = snapshot.remaining(now_there);
    if (sight != nullptr && job->record.gpus.size() == 1) {
      const Glimpse seen = sight->Now(job->record.number, job->record.gpus.front().uuid);
      standing.sm = seen.sm;
      standing.sm_alone =
          SmAlone(job->record.believed, job->record.gpus.front().model, seen.gpu_memory);
    }
    running.push_back(std::move(standing));
  }
  std::sort(running.begin(), running.end(),
            [](const Standing& a, const Standing& b) { return a.job < b.job; });
  const Verdict verdict = guard.Look(now, running);
  for (const Standing& standing : running) {
    Live* job = Find(standing.job);
    const Pace pace = guard.PaceOf(standing.job);
    if (!standing.steps && !pace.slowdown) continue;
    job->record.steps = standing.steps;
    job->record.steps_per_second = pace.steps_per_second;
    job->record.slowdown = pace.slowdown;
    board.Put(job->record);
  }
  for (const MeasuredPair& pair : verdict.pairs) {
    const Live *a = Find(pair.a), *b = Find(pair.b);
    if (a == nullptr || b == nullptr || a->record.gpus.empty()) continue;
    const core::SharedRun run{a->record.gpus.front().model,
                              core::WorkloadKey(a->record.asked),
                              core::WorkloadKey(b->record.asked),
                              pair.speed_a,
                              pair.speed_b,
                              true,
                              Wall()};
    owed.shared.push_back(run);
    advisor.LearnShared(run);
  }
  if (!verdict.pairs.empty()) loop->Follow(advisor.Policy());
  for (const core::JobId id : verdict.leave) Part(id);
}

// Stored before it is acted on: a server that is killed in between must know that it asked.
void Service::Impl::Part(core::JobId id) {
  Live* job = Find(id);
  if (job == nullptr || job->record.phase != Phase::kRunning) return;
  JobRecord record = job->record;
  ++record.parted;
  record.phase = Phase::kStopping;
  record.reason = "parted from its neighbours; it goes back into the queue";
  record.note =
      "it and its neighbours slowed each other beyond the bound (measured); it goes back into the "
      "queue and will not be put beside them again";
  store::JobChanges changes;
  changes.events.push_back({next_event, Wall(), "job.parted", record.number,
                            fmt::format("job {}: {}", record.number, record.note)});
  changes.jobs.push_back(std::move(record));
  if (Commit(std::move(changes))) engine.Requeue(id);
}

void Service::Impl::ReleaseDependents(std::int64_t number, Phase how) {
  const auto [begin, end] = dependents.equal_range(number);
  std::vector<std::int64_t> waiting;
  for (auto it = begin; it != end; ++it) waiting.push_back(it->second);
  dependents.erase(begin, end);
  for (const std::int64_t other : waiting) {
    Live* job = Find(other);
    if (job == nullptr || job->record.phase != Phase::kHeld) continue;
    JobRecord& record = job->record;
    if (how != Phase::kFinished) {
      record.phase = Phase::kCancelled;
      record.ended = Wall();
      record.note = fmt::format("job {}, which it was to come after, {}", number,
                                how == Phase::kFailed ? "failed" : "was cancelled");
      Say("job.cancelled", other, fmt::format("job {}: {}", other, record.note));
    } else {
      record.reason = Waits(record);
      if (record.reason.empty()) {
        record.phase = Phase::kWaiting;
        Enqueue(other);
      }
    }
    Touch(*job);
  }
}

void Service::Impl::SeatReservations() {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool unusable = gpus[i].drained || !gpus[i].problem.empty();
    if (unusable == reservation[i].valid()) continue;
    if (!unusable) {
      loop->Unseat(std::exchange(reservation[i], {}));
      engine.Wake();  // somebody may have waited for it
      continue;
    }
    core::Job job;
    job.id = core::JobId(number_of.size());
    job.name = "unusable";
    job.exclusive = true;
    job.priority = kAboveAll;  // no order takes its place away
    job.submit = snapshot.now();
    reservation[i] = job.id;
    number_of.push_back(0);
    loop->Seat(std::move(job), advisor.EstimateOf({}), {{core::GpuId(i)}, {}, 0});
  }
}

void Service::Impl::Publish() {
  ServiceView now;
  now.gpus = gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    now.gpus[i].jobs = Beside({core::GpuId(i)}, {});
  }
  for (std::size_t i = 0; i < cluster.nodes().size(); ++i) {
    const core::NodeId node(i);
    now.cores += cluster.node(node).cores.value_or(0);
    now.cores_given += snapshot.cores_used(node);
  }
  if (!cluster.nodes().empty()) now.node = cluster.nodes().front().name;
  now.policy = policy_name;
  now.store_up = store_problem.empty();
  now.store_problem = store_problem;
  now.decisions = decided;
  now.decision_p99 = core::Seconds(core::Quantile({turns.begin(), turns.end()}, 0.99).value_or(0));
  const std::lock_guard lock(mutex);
  now.since = view.since;
  view = std::move(now);
}

}  // namespace sharewell::control
