#include "control/service/runs/pace_watch.h"

#include <algorithm>
#include <utility>

#include "control/service/jobs/time_given.h"
#include "control/service/record/plan_records.h"
#include "control/service/view/eviction_words.h"
#include "estimate/seen_needs.h"

namespace sharewell::control {
namespace {

using core::JobRecord;
using core::Phase;

constexpr core::Seconds kLookEvery(1);
constexpr core::Seconds kShowSeenEvery(5);  // a look at all that was seen of a job takes a while

}  // namespace

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

core::StepsBy CountedBy(const engine::StepCount& steps) {
  return steps.by_watcher ? core::StepsBy::kWatcher : core::StepsBy::kReport;
}

PaceWatch::PaceWatch(Parts parts, const GuardOptions& guard)
    : parts_(std::move(parts)),
      guard_(guard),
      speeds_({.store = parts_.store, .outbox = parts_.outbox, .wall = parts_.wall_at}) {}

// Steps are seen as often as they are looked at, and a turn comes only when something happens.
// Where turns come oftener than looks, none of them puts the next look off.
std::optional<core::Seconds> PaceWatch::NextLook(const core::Snapshot& snapshot) {
  const auto running = snapshot.running();
  const bool any = std::any_of(running.begin(), running.end(), [&](core::JobId id) {
    return !snapshot.job(id).allocation.gpus.empty() && parts_.live.Find(id) != nullptr;
  });
  if (!any) return std::nullopt;
  if (looked_ + kLookEvery < snapshot.now()) looked_ = snapshot.now();
  return looked_ + kLookEvery;
}

Standing PaceWatch::StandingNow(LiveJob& job) const {
  const core::JobView& view = parts_.snapshot.job(job.id);
  const auto& on = view.allocation.gpus;
  if (!JobsOn(on, job.id, parts_.snapshot, parts_.live).empty())
    job.alone = job.always_alone = false;
  Standing standing = StandingOf(parts_.snapshot, job.id, parts_.max_slowdown);
  if (const auto told = parts_.engine.HeardOf(job.id).steps) {
    standing.steps = told->steps;
    standing.told_at = told->told_at;
  }
  standing.steps_alone = core::RateAlone(job.record);
  standing.disturbed = parts_.engine.IsBeingLeft(on);
  if (standing.sm_share < 1 && !on.empty() && !view.estimate.on.empty()) {
    const core::Demand& demand = view.estimate.On(parts_.cluster.ModelOf(on.front())).demand;
    standing.share_speed = parts_.advisor.SpeedWithShare(demand, standing.sm_share);
  }
  if (parts_.monitor != nullptr && job.record.gpus.size() == 1) {
    const core::GivenGpu& gpu = job.record.gpus.front();
    const JobReading reading = parts_.monitor->Now(job.record.number, gpu.uuid);
    standing.sm = reading.sm;
    standing.sm_alone = estimate::SmAlone(job.record.believed, gpu.model, reading.gpu_memory);
  }
  return standing;
}

std::vector<Standing> PaceWatch::Read(const core::Snapshot& snapshot) {
  passed_ = snapshot.now() - std::exchange(looked_, snapshot.now());
  std::vector<Standing> running;
  for (const core::JobId id : snapshot.running()) {
    LiveJob* job = parts_.live.Find(id);
    if (job == nullptr || job->record.phase != Phase::kRunning) continue;
    running.push_back(StandingNow(*job));
  }
  std::sort(running.begin(), running.end(),
            [](const Standing& a, const Standing& b) { return a.job < b.job; });
  guard_.KeepOnly(running);
  return running;
}

void PaceWatch::OnVerdict(const core::Snapshot& snapshot, std::span<const Standing> running,
                          const Verdict& verdict) {
  const bool show = parts_.monitor != nullptr && snapshot.now() >= shown_seen_ + kShowSeenEvery;
  for (const Standing& standing : running) {
    LiveJob& job = *parts_.live.Find(standing.job);
    SetPace(job, snapshot.job(standing.job).estimate, standing.gpus);
    ExtendLimit(job, standing);
    Show(job, standing, show);
    speeds_.Look(job, parts_.engine.HeardOf(standing.job), snapshot.now(),
                 JobsOn(standing.gpus, standing.job, snapshot, parts_.live));
  }
  if (show) shown_seen_ = snapshot.now();
  LearnPairs(verdict.pairs);
  for (const Eviction& stays : verdict.stay) {
    LiveJob& slowed = *parts_.live.Find(stays.why.slowed);
    slowed.record.note = WhyItStays(stays, parts_.live);
    parts_.outbox.Touch(slowed);
  }
}

void PaceWatch::Show(LiveJob& job, const Standing& standing, bool figures) {
  JobRecord& record = job.record;
  const Pace pace = guard_.PaceOf(standing.job);
  if (figures) record.seen = SeenOf(parts_.monitor->Seen(record.number), record.asked.gpus);
  if (pace.measured) KeepRate(job, *pace.measured);
  if (!standing.steps && !pace.slowdown && !figures) return;
  if (parts_.monitor != nullptr && standing.steps.value_or(0) > record.steps.value_or(0)) {
    parts_.monitor->Stepped(record.number);
  }
  record.steps = standing.steps;
  const auto told = parts_.engine.HeardOf(job.id).steps;
  if (told && told->steps > 0) record.steps_by = CountedBy(*told);
  record.steps_per_second = pace.steps_per_second;
  // From its second step on, before a window is full.
  if (!record.steps_per_second && told) record.steps_per_second = told->PerSecond();
  record.slowdown = pace.slowdown;
  parts_.board.Put(record);
}

void PaceWatch::TakeSpeed(LiveJob& job) {
  JobRecord& record = job.record;
  const auto heard = job.id.valid() ? parts_.engine.HeardOf(job.id) : engine::Heard();
  const auto mean = speeds_.End(job, heard, parts_.snapshot.now());
  if (core::IsOver(record.phase) && mean) record.steps_per_second = mean;
}

// It outlives the server. What is seen longer is seen better, but hardly.
void PaceWatch::KeepRate(LiveJob& job, const core::SeenRate& seen) {
  constexpr double kWorthStoring = 2;
  job.record.alone = seen;
  if (seen.over < job.rate_stored * kWorthStoring) return;
  job.rate_stored = seen.over;
  parts_.outbox.Touch(job);
}

// No job runs into its time limit because others were put beside it.
void PaceWatch::ExtendLimit(LiveJob& job, const Standing& standing) {
  JobRecord& record = job.record;
  if (!record.asked.time_limit) return;
  const core::Snapshot& snapshot = parts_.snapshot;
  TimeBeside beside;
  beside.passed = std::min(passed_, snapshot.now() - standing.started);
  beside.others = !JobsOn(standing.gpus, standing.job, snapshot, parts_.live).empty();
  beside.slowdown = guard_.PaceOf(standing.job).slowdown;
  beside.most = standing.max_slowdown * guard_.options().margin;
  if (standing.sm_share < 1) beside.share_speed = standing.share_speed;
  beside.limited = standing.sm_share < 1;
  beside.own_share = standing.own_share;
  job.limit_told = std::min(job.limit_told, record.limit_extended);  // of an earlier attempt
  record.limit_extended = Extended(*record.asked.time_limit, record.limit_extended, beside);
  constexpr core::Seconds kWorthTelling(1), kWorthStoring(10);
  if (record.limit_extended - job.limit_told < kWorthTelling) return;
  parts_.engine.SetTimeLimit(job.id, *record.asked.time_limit + record.limit_extended);
  const auto stored = [&](core::Seconds extended) {
    return static_cast<std::int64_t>(extended / kWorthStoring);
  };
  if (stored(job.limit_told) != stored(record.limit_extended)) parts_.outbox.Touch(job);
  job.limit_told = record.limit_extended;
}

void PaceWatch::LearnPairs(const std::vector<MeasuredPair>& pairs) {
  for (const MeasuredPair& pair : pairs) {
    const LiveJob *a = parts_.live.Find(pair.a), *b = parts_.live.Find(pair.b);
    if (a == nullptr || b == nullptr || a->record.gpus.empty()) continue;
    const core::SharedRun run{a->record.gpus.front().model,
                              core::WorkloadKey(a->record.asked),
                              core::WorkloadKey(b->record.asked),
                              pair.speed_a,
                              pair.speed_b,
                              true,
                              parts_.wall(),
                              pair.sm_share_a,
                              pair.sm_share_b,
                              a->record.user.name,
                              b->record.user.name,
                              pair.over};
    parts_.outbox.AddShared(run);
    parts_.advisor.LearnShared(run);
  }
  if (!pairs.empty()) parts_.pairs_learnt();
}

void PaceWatch::SetPace(const LiveJob& job, const core::Estimate& believed,
                        const std::vector<core::GpuId>& on) {
  engine::LonePace pace;
  pace.steps = guard_.PaceOf(job.id).alone;
  if (!pace.steps) pace.steps = core::RateAlone(job.record);
  if (!on.empty() && !believed.on.empty()) {
    pace.rate = believed.On(parts_.cluster.ModelOf(on.front())).rate;
  }
  // What is assumed of a job that nobody knows is not what it is expected to need.
  const bool known = believed.sources.gpu_memory != core::Source::kAssumed;
  if (job.record.asked.gpus > 0 && known) pace.gpu_memory = believed.gpu_memory_upper;
  parts_.engine.SetPace(job.id, pace);
}

// Of one that shared and whose rate alone nobody saw, nobody knows what its work takes alone.
std::optional<core::Seconds> PaceWatch::TimeAlone(const LiveJob& job) const {
  const JobRecord& record = job.record;
  if (job.adopted) return record.alone_time;  // of one that was found again only the end was seen
  const bool undisturbed = job.always_alone && record.sm_share >= 1;
  const bool by_steps = parts_.engine.HeardOf(job.id).steps && core::RateAlone(record);
  if (!undisturbed && !by_steps) return std::nullopt;
  return parts_.snapshot.alone_time(parts_.snapshot.job(job.id));
}

core::Profile PaceWatch::LearnRun(const LiveJob& job) {
  const JobRecord& record = job.record;
  core::Profile seen =
      parts_.monitor != nullptr ? parts_.monitor->Seen(record.number) : core::Profile{};
  if (record.sm_share < 1 && !record.asked.sm_share) seen = estimate::WithoutPace(seen);
  seen.steps_per_second.reset();
  if (record.sm_share >= 1 && record.alone) {
    seen.steps_per_second = record.alone->steps_per_second;
  } else if (record.sm_share >= 1 && job.alone && record.steps && record.run_time.value > 1) {
    // Its own mean, where nobody was beside it.
    seen.steps_per_second = *record.steps / record.run_time.value;
  }
  if (seen.gpu.empty() && !record.gpus.empty()) seen.gpu = record.gpus.front().model;
  parts_.advisor.LearnRun(record, seen);
  return seen;
}

}  // namespace sharewell::control
