#include "control/loop/guard.h"

#include <algorithm>
#include <utility>

#include "control/loop/silent_speed.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Ratio;
using core::Seconds;

constexpr double kPauseGaps = 2;   // silent for so many of its usual gaps, and
constexpr Seconds kPause(2.5);     // so long: it pauses
constexpr Seconds kToGo(30);       // for a job that was told to leave
constexpr Seconds kAloneOver(60);  // about so long the rate alone is averaged over

// `alone` over `now`. Far above any bound it stands still, and the figure says nothing more.
Ratio SlowdownOf(double alone, double now) {
  constexpr Ratio kMost = 100;
  return now * kMost <= alone ? kMost : alone / now;
}

std::optional<Ratio> SlowdownOf(std::optional<double> alone, std::optional<double> now) {
  return alone && now ? std::optional(SlowdownOf(*alone, *now)) : std::nullopt;
}

// What was measured alone with the SMs it has, as it would be with all. Absent: nobody knows.
std::optional<double> WithAllSms(double measured, const Standing& job) {
  if (job.sm_share >= 1) return measured;
  if (!job.share_speed || *job.share_speed <= 0) return std::nullopt;
  return measured / *job.share_speed;
}

// The median of what was read in (after, until]. Absent: that time was not read throughout.
std::optional<double> MedianIn(const std::vector<std::pair<Seconds, double>>& readings,
                               Seconds after, Seconds until) {
  if (readings.empty() || readings.front().first > after) return std::nullopt;
  std::vector<double> values;
  for (const auto& [at, value] : readings) {
    if (at > after && at <= until) values.push_back(value);
  }
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Guard::Guard(const GuardOptions& options) : options_(options) {}

core::Ratio Guard::Track::speed() const {
  const auto slowdown = slow().newest;
  return slowdown ? std::min(1.0, 1 / *slowdown) : 1;
}

bool Guard::Track::Pauses(Seconds now) const {
  return now - news_at > std::max(pace.gap() * kPauseGaps, kPause);
}

void Guard::Track::Forget() {
  pace.Clear();
  active.clear();
  steps = silent = {};
  sm.reset();
  by_sm.reset();
  kept_beside = pair_told = stay_told = false;
  slow_since.reset();
}

void Guard::Follow(Seconds now, const Standing& job, const Neighbours& neighbours) {
  const auto [it, fresh] = tracks_.try_emplace(job.job);
  Track& track = it->second;
  if (fresh) track.pace = StepPace(options_.window);
  const bool again = fresh || track.started != job.started || track.gpus != job.gpus;
  if (again) {
    // A rate alone is of the GPUs it had.
    if (track.gpus != job.gpus) {
      track.alone_measured.reset();
      track.sm_measured.reset();
    }
    track.gpus = job.gpus;
    track.started = job.started;
    track.told.reset();
    track.kept_pace = false;
  }
  std::vector<JobId> ids;
  for (const Standing* other : neighbours) ids.push_back(other->job);
  if (again || job.disturbed || track.neighbours != ids) {
    track.neighbours = std::move(ids);
    track.since = job.history ? job.history->beside_since : now;
    track.Forget();
  }
  if (job.history && job.history->kept_pace) track.kept_pace = true;
  track.alone_profile = job.steps_alone;
  track.sm_profile = job.sm_alone;
}

void Guard::Measure(Seconds now, const Standing& job, Track& track) const {
  track.news = job.steps && (!track.told || *job.steps > *track.told);
  if (!job.steps) return;
  if (track.told && *job.steps < *track.told) track.pace.Clear();  // it counts anew
  track.told = job.steps;
  if (track.news) track.news_at = now;
  const Seconds at = std::min(job.told_at.value_or(now), now);
  const Seconds settled = track.since + options_.settle;
  if (!track.news || at < settled) return;
  for (std::size_t i = 0; job.history && i < job.history->told.size(); ++i) {
    const Telling& earlier = job.history->told[i];
    if (earlier.at >= settled) track.pace.Add(earlier.at, earlier.steps);
  }
  track.pace.Observe(at, *job.steps);
  const auto rate = track.pace.newest();
  if (track.neighbours.empty() && rate) {
    if (const auto alone = WithAllSms(*rate, job)) {
      const Seconds passed = now - looked_;
      auto& known = track.alone_measured;
      if (!known) known = {*alone, options_.window};
      known->steps_per_second +=
          (*alone - known->steps_per_second) * std::min(1.0, passed / kAloneOver);
      known->over += passed;
    }
  }
  track.steps = {SlowdownOf(track.alone(), rate), SlowdownOf(track.alone(), track.pace.before())};
}

void Guard::MeasureSm(Seconds now, const Standing& job, const Neighbours& neighbours) {
  Track& track = tracks_.at(job.job);
  track.silent = {};
  track.sm.reset();
  track.by_sm.reset();
  if (!job.sm || job.gpus.size() != 1) return track.active.clear();
  if (now < track.since + options_.settle) return;
  auto& active = track.active;
  active.emplace_back(now, *job.sm);
  while (active.size() > 2 && active[1].first <= now - options_.window * 2) {
    active.erase(active.begin());
  }
  // Where it is looked at once a window, what is read is of the whole window.
  track.sm = job.history ? std::optional(*job.sm) : MedianIn(active, now - options_.window, now);
  if (!track.sm) return;
  if (neighbours.empty()) {
    // Nobody says when it trains; while it does not, it keeps less active.
    const auto alone = WithAllSms(*track.sm, job);
    if (alone) track.sm_measured = std::max(track.sm_measured.value_or(0), *alone);
    return;
  }
  std::vector<SmDemand> all;
  std::size_t silent = 0;
  const auto add = [&](const Standing& one, bool itself) {
    const Track& its = tracks_.at(one.job);
    const auto alone = its.sm_alone();
    if (!alone || one.gpus != job.gpus) return false;
    const bool told = !itself && its.steps.newest;
    if (told && its.Pauses(now)) return false;  // what it keeps active now is not its pace
    all.push_back({*alone, told ? std::optional(its.speed()) : std::nullopt});
    silent += told ? 0 : 1;
    return true;
  };
  if (!add(job, true)) return;
  for (const Standing* other : neighbours) {
    if (!add(*other, false)) return;
  }
  const auto slowdown = [&](std::optional<double> sm) -> std::optional<Ratio> {
    const auto speed = sm ? SilentSpeed(*sm, all) : std::nullopt;
    return speed ? std::optional(SlowdownOf(1, *speed)) : std::nullopt;
  };
  if (track.told) {
    if (silent == 1) track.by_sm = slowdown(track.sm);
    return;
  }
  track.of_several = silent > 1;
  track.silent = {slowdown(track.sm),
                  slowdown(MedianIn(active, now - options_.window * 2, now - options_.window))};
}

// Whether it keeps its pace, for how it is judged later.
void Guard::Remember(Seconds now, const Standing& job, Track& track) const {
  const auto slowdown = track.slow().newest;
  if (!slowdown && !track.told) track.slow_since.reset();  // not seen without a break
  if (!slowdown) return;
  if (ByNeighbours(job, *slowdown) <= job.max_slowdown * options_.margin) {
    track.kept_pace = track.kept_beside = true;
    track.slow_since.reset();
  } else if (!track.slow_since) {
    track.slow_since = now;
  }
}

Verdict Guard::Look(Seconds now, std::span<const Standing> running) {
  // By GPU: a cluster has thousands that run, and this is looked at every second.
  std::map<core::GpuId, Neighbours> on_gpu;
  for (const Standing& job : running) {
    for (const core::GpuId gpu : job.gpus) on_gpu[gpu].push_back(&job);
  }
  std::map<JobId, Neighbours> neighbours_of;
  for (const Standing& job : running) {
    auto& neighbours = neighbours_of[job.job];
    for (const core::GpuId gpu : job.gpus) {
      for (const Standing* other : on_gpu[gpu]) {
        if (other->job != job.job) neighbours.push_back(other);
      }
    }
    std::sort(neighbours.begin(), neighbours.end(),
              [](const Standing* a, const Standing* b) { return a->job < b->job; });
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  }
  for (const Standing& job : running) Follow(now, job, neighbours_of[job.job]);
  // With its first step a job begins to contend: what was seen beside it before says nothing.
  for (const Standing& job : running) {
    if (!job.steps || tracks_.at(job.job).told) continue;
    const Seconds at =
        job.history ? job.history->first_step : std::min(job.told_at.value_or(now), now);
    const auto begin = [&](JobId id) {
      tracks_.at(id).since = std::max(tracks_.at(id).since, at);
      tracks_.at(id).Forget();
    };
    begin(job.job);
    for (const Standing* other : neighbours_of[job.job]) begin(other->job);
  }
  for (const Standing& job : running) Measure(now, job, tracks_.at(job.job));
  for (const Standing& job : running) MeasureSm(now, job, neighbours_of[job.job]);
  for (const Standing& job : running) Remember(now, job, tracks_.at(job.job));
  looked_ = now;

  Verdict verdict;
  std::vector<JobId> disturbed;  // everybody on GPUs that somebody leaves
  for (const Standing& job : running) {
    const Neighbours& neighbours = neighbours_of[job.job];
    const bool breaks = Breaks(now, job, neighbours);
    if (neighbours.size() == 1 && tracks_.at(neighbours[0]->job).neighbours.size() == 1) {
      AddPair(now, job, *neighbours[0], breaks, verdict);
    }
    if (!breaks || std::find(disturbed.begin(), disturbed.end(), job.job) != disturbed.end()) {
      continue;
    }
    Track& track = tracks_.at(job.job);
    const Standing* leaves = WhoLeaves(job, neighbours);
    const Eviction eviction{
        leaves != nullptr ? leaves->job : neighbours.front()->job,
        {job.job, *track.slow().newest, job.max_slowdown, track.told.has_value()}};
    if (leaves == nullptr) {
      if (!std::exchange(track.stay_told, true)) verdict.stay.push_back(eviction);
      continue;
    }
    verdict.leave.push_back(eviction);
    disturbed.push_back(job.job);
    for (const Standing* other : neighbours) disturbed.push_back(other->job);
  }
  // Said once: who leaves gets its time to go.
  for (const JobId id : disturbed) {
    tracks_.at(id).since = now + kToGo;
    tracks_.at(id).Forget();
  }
  std::sort(verdict.leave.begin(), verdict.leave.end(),
            [](const Eviction& a, const Eviction& b) { return a.job < b.job; });
  return verdict;
}

void Guard::KeepOnly(std::span<const Standing> running) {
  std::erase_if(tracks_, [&](const auto& entry) {
    const auto found = std::lower_bound(running.begin(), running.end(), entry.first,
                                        [](const Standing& job, JobId id) { return job.job < id; });
    return found == running.end() || found->job != entry.first;
  });
}

void Guard::Forget(JobId job) { tracks_.erase(job); }

std::optional<Seconds> Guard::SlowSince(JobId job) const {
  const auto it = tracks_.find(job);
  return it == tracks_.end() ? std::nullopt : it->second.slow_since;
}

void Guard::Renumber(const core::Renumbering& ids) {
  for (auto& [job, track] : std::exchange(tracks_, {})) {
    const JobId id = ids.Of(job);
    if (!id.valid()) continue;
    // A neighbour that is gone stays as nobody: that it left is yet to be seen.
    for (JobId& neighbour : track.neighbours) neighbour = ids.Of(neighbour);
    tracks_.emplace(id, std::move(track));
  }
}

Pace Guard::PaceOf(JobId job) const {
  const auto it = tracks_.find(job);
  if (it == tracks_.end()) return {};
  const Track& track = it->second;
  return {track.pace.newest(), track.alone(), track.alone_measured, track.slow().newest};
}

}  // namespace sharewell::control
