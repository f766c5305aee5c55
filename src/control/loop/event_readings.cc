#include "control/loop/event_readings.h"

#include <algorithm>

#include "core/estimate.h"

namespace sharewell::control {
namespace {

using core::GpuId;
using core::JobId;
using core::Ratio;
using core::Seconds;

constexpr Seconds kTellEvery(1);
// Looks come so much later than a window ends: sums of seconds fall short of it by rounding.
constexpr Seconds kSlack(1);

// Steps a second alone as its measured profile has them, with the cores that it has.
std::optional<double> StepsByProfile(const core::Snapshot& snapshot, const core::JobView& view) {
  if (view.estimate.sources.pace != core::Source::kObserved) return std::nullopt;
  const core::Cluster& cluster = snapshot.cluster();
  const GpuId gpu = view.allocation.gpus.front();
  const core::ModelEstimate& on = view.estimate.On(cluster.ModelOf(gpu));
  const bool limited = cluster.node(cluster.NodeOf(gpu)).cores.has_value();
  return on.rate * (limited ? core::Throughput(view.estimate.cpu_curve, on.demand.cpu_cores,
                                               view.allocation.cores)
                            : 1);
}

}  // namespace

EventReadings::EventReadings(Guard& guard, const engine::StepSource& steps,
                             EventReadingsOptions options)
    : guard_(guard), steps_(steps), options_(std::move(options)) {}

std::optional<Seconds> EventReadings::NextLook(const core::Snapshot&) {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

void EventReadings::Plan(GpuId gpu, Sharing& sharing, std::optional<Seconds> at) {
  if (sharing.at) due_.erase({*sharing.at, gpu});
  sharing.at = at;
  if (at) due_.emplace(*at, gpu);
}

// Its residents are others than they were.
void EventReadings::Watch(const core::Snapshot& snapshot, GpuId gpu) {
  const auto residents = snapshot.residents(gpu).jobs();
  const auto found = sharing_.find(gpu);
  if (residents.empty()) {
    if (found == sharing_.end()) return;
    Plan(gpu, found->second, std::nullopt);
    sharing_.erase(found);
    return;
  }
  Sharing& sharing = found != sharing_.end() ? found->second : sharing_[gpu];
  sharing.since = snapshot.changed(gpu);
  sharing.looks = 0;
  bool judged = false;  // of somebody it is known how fast it is alone
  for (const JobId id : residents) {
    const core::JobView& view = snapshot.job(id);
    if (view.job.placeholder || view.allocation.gpus.size() != 1) {
      return Plan(gpu, sharing, std::nullopt);  // nobody who shares
    }
    judged = judged || SeenAlone(id, gpu) != nullptr || StepsByProfile(snapshot, view);
    sharing.since = std::max(sharing.since, steps_.FirstStep(id));
  }
  sharing.read = sharing.since + guard_.options().settle - kTellEvery;
  const Seconds first_look =
      sharing.since + guard_.options().settle + guard_.options().window + kSlack;
  Plan(gpu, sharing, judged && residents.size() > 1 ? std::optional(first_look) : std::nullopt);
}

void EventReadings::AfterChanges(const core::Snapshot& snapshot,
                                 std::span<const core::Change> changes) {
  using Kind = core::Change::Kind;
  std::set<GpuId> changed;
  for (const core::Change& change : changes) {
    if (change.kind == Kind::kSubmitted || change.kind == Kind::kProfiled) continue;
    const core::JobView& view = snapshot.job(change.job);
    const auto was = on_.find(change.job);
    const bool runs = view.state == core::JobState::kRunning && view.allocation.gpus.size() == 1;
    if (was != on_.end()) changed.insert(was->second);
    if (runs) {
      on_[change.job] = view.allocation.gpus.front();
      changed.insert(view.allocation.gpus.front());
    } else if (was != on_.end()) {
      on_.erase(was);
      alone_.erase(change.job);
      guard_.Forget(change.job);
    }
  }
  for (const GpuId gpu : changed) Watch(snapshot, gpu);
}

void EventReadings::BeforePlan(const core::Snapshot& snapshot, const core::Plan& plan) {
  const auto comes = [&](const core::Allocation& to) {
    if (to.gpus.size() == 1) ReadAlone(snapshot, to.gpus.front());
  };
  for (const auto& move : plan.moves) comes(move.to);
  for (const auto& start : plan.starts) comes(start.to);
}

// Who has that GPU to itself until now tells how fast it is alone.
void EventReadings::ReadAlone(const core::Snapshot& snapshot, GpuId gpu) {
  const auto residents = snapshot.residents(gpu).jobs();
  const auto found = sharing_.find(gpu);
  if (residents.size() != 1 || found == sharing_.end()) return;
  const Seconds now = snapshot.now(), window = guard_.options().window;
  if (now < found->second.since + guard_.options().settle + window) return;
  const JobId id = residents.front();
  const core::JobView& view = snapshot.job(id);
  if (view.allocation.gpus.size() != 1) return;
  const auto before = steps_.Steps(id, now - window), last = steps_.Steps(id, now);
  if (!before || !last || *last <= *before) return;
  double rate = (*last - *before) / window.value;
  std::optional<Ratio> sm = steps_.Sm(id, now);
  if (const Ratio share = view.allocation.sm_share; share < 1) {
    const auto speed =
        options_.share_speed
            ? options_.share_speed(view.estimate.On(snapshot.cluster().ModelOf(gpu)).demand, share)
            : std::nullopt;
    if (!speed || *speed <= 0) return;
    rate /= *speed;
    if (sm) *sm /= *speed;
  }
  alone_[id] = {gpu, view.since, rate, sm};
}

const EventReadings::Alone* EventReadings::SeenAlone(JobId id, GpuId gpu) const {
  const auto found = alone_.find(id);
  return found != alone_.end() && found->second.gpu == gpu ? &found->second : nullptr;
}

Standing EventReadings::Stands(const core::Snapshot& snapshot, JobId id,
                               const Sharing& sharing) const {
  const core::JobView& view = snapshot.job(id);
  const GpuId gpu = view.allocation.gpus.front();
  Standing standing = StandingOf(snapshot, id, options_.max_slowdown);
  standing.steps = steps_.Steps(id, snapshot.now());
  standing.sm = steps_.Sm(id, snapshot.now());
  standing.history.emplace();
  standing.history->beside_since = sharing.since;
  standing.history->first_step = steps_.FirstStep(id);
  for (Seconds at = sharing.read + kTellEvery; at < snapshot.now(); at += kTellEvery) {
    const auto told = steps_.Steps(id, at);
    if (told) standing.history->told.push_back({at, *told});
  }
  standing.steps_alone = StepsByProfile(snapshot, view);
  const core::Demand& demand = view.estimate.On(snapshot.cluster().ModelOf(gpu)).demand;
  if (standing.steps_alone) standing.sm_alone = demand.sm;
  if (const Alone* alone = SeenAlone(id, gpu)) {
    standing.steps_alone = alone->steps_per_second;
    standing.sm_alone = alone->sm;
    standing.history->kept_pace = alone->started == view.since;
  }
  if (standing.sm_share < 1 && options_.share_speed) {
    standing.share_speed = options_.share_speed(demand, standing.sm_share);
  }
  return standing;
}

std::vector<Standing> EventReadings::Read(const core::Snapshot& snapshot) {
  std::vector<Standing> running;
  while (!due_.empty() && due_.begin()->first <= snapshot.now()) {
    const GpuId gpu = due_.begin()->second;
    Sharing& sharing = sharing_.at(gpu);
    Plan(gpu, sharing, std::nullopt);
    ++sharing.looks;
    for (const JobId id : snapshot.residents(gpu).jobs()) {
      running.push_back(Stands(snapshot, id, sharing));
    }
    sharing.read = snapshot.now();
  }
  std::sort(running.begin(), running.end(),
            [](const Standing& a, const Standing& b) { return a.job < b.job; });
  return running;
}

void EventReadings::OnVerdict(const core::Snapshot& snapshot, std::span<const Standing> running,
                              const Verdict& verdict) {
  for (const MeasuredPair& pair : verdict.pairs) {
    if (pair.broke && options_.learn) options_.learn(snapshot, pair);
  }
  const GuardOptions& guard = guard_.options();
  for (const Standing& job : running) {
    Sharing& sharing = sharing_.at(job.gpus.front());
    const auto slow = guard_.SlowSince(job.job);
    // Two windows must agree: where the first one breaks no bound the second need not be looked at.
    if (!slow || sharing.looks > 2) continue;
    if (sharing.looks == 1) {
      Plan(job.gpus.front(), sharing, snapshot.now() + guard.window + kSlack);
      continue;
    }
    const Seconds patient = std::max(*slow + guard.patience, snapshot.now() + kTellEvery);
    if (!sharing.at || patient < *sharing.at) Plan(job.gpus.front(), sharing, patient);
  }
}

}  // namespace sharewell::control
