#include "control/loop/guard.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "control/loop/silent_speed.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Ratio;
using core::Seconds;

constexpr double kAloneWindows = 4;  // over about so many windows the rate alone is averaged
constexpr double kStalledGaps = 2;   // silent for so many of its longest gaps: it stands still

// `alone` over `now`. Far above any bound it stands still, and the figure says nothing more.
Ratio SlowdownOf(double alone, double now) {
  constexpr Ratio kMost = 100;
  return now * kMost <= alone ? kMost : alone / now;
}

bool ShareAGpu(const Standing& a, const Standing& b) {
  return std::any_of(a.gpus.begin(), a.gpus.end(), [&](core::GpuId gpu) {
    return std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end();
  });
}

// Time beside others and alone until the end, over what the whole run takes alone. It is beside
// others until it ends or the last of the others does.
Ratio LifetimeSlowdown(const Standing& job, Ratio slowdown, std::optional<Seconds> others_end) {
  Seconds together = *job.left * slowdown;
  if (others_end) together = std::min(together, *others_end);
  const Seconds rest = *job.left - together / slowdown;
  return (job.run_time + together + rest) / (job.alone_time + *job.left);
}

}  // namespace

Guard::Guard(const GuardOptions& options) : options_(options) {}

std::optional<Ratio> Guard::Track::by_steps() const {
  const auto by = alone();
  if (!by || !rate) return std::nullopt;
  return SlowdownOf(*by, *rate);
}

void Guard::Follow(Seconds now, const Standing& job, std::vector<JobId> neighbours) {
  const auto [it, fresh] = tracks_.try_emplace(job.job);
  Track& track = it->second;
  const bool again = fresh || track.started != job.started || track.gpus != job.gpus;
  if (again) {
    // A rate alone is of the GPUs it had.
    if (track.gpus != job.gpus) {
      track.alone_measured.reset();
      track.sm_measured.reset();
    }
    track.gpus = job.gpus;
    track.started = job.started;
    track.told_at.reset();
    track.longest_gap = {};
  }
  if (again || track.neighbours != neighbours) {
    track.neighbours = std::move(neighbours);
    track.neighbours_since = now;
    track.steps.clear();
    track.rate.reset();
    track.told = false;
    track.active.clear();
    track.by_sm.reset();
  }
  track.alone_profile = job.steps_alone;
  track.sm_profile = job.sm_alone;
  Measure(now, job, track);
}

void Guard::Measure(Seconds now, const Standing& job, Track& track) const {
  if (!job.steps) return;
  auto& steps = track.steps;
  if (track.told_at && *job.steps < track.told_steps) {  // it counts anew
    steps.clear();
    track.told_at.reset();
    track.longest_gap = {};
  }
  const bool more = *job.steps > track.told_steps || !track.told_at;
  if (more) {
    if (track.told_at) track.longest_gap = std::max(track.longest_gap, now - *track.told_at);
    track.told_at = now;
    track.told_steps = *job.steps;
  }
  const Seconds settled = track.neighbours_since + options_.settle;
  if (now < settled) return;
  if (more) {
    // Steps that are told often are kept now and then: a window has some thirty of them.
    const std::size_t n = steps.size();
    if (n > 1 && now - steps[n - 2].first < options_.window / 30) steps.pop_back();
    steps.emplace_back(now, *job.steps);
    while (steps.size() > 2 && steps[1].first <= now - options_.window) steps.erase(steps.begin());
  }
  track.rate.reset();
  const Seconds silent = now - std::max(*track.told_at, settled);
  if (track.longest_gap > Seconds(0) && silent >= options_.window &&
      silent > track.longest_gap * kStalledGaps) {
    const double done = steps.empty() ? 0 : track.told_steps - steps.front().second;
    track.rate = done / (steps.empty() ? silent : now - steps.front().first).value;
  } else if (steps.size() > 1 && now - steps.front().first >= options_.window) {
    // Jobs tell their steps in lots: the time is taken from lot to lot.
    track.rate = (steps.back().second - steps.front().second) /
                 (steps.back().first - steps.front().first).value;
  }
  if (!track.neighbours.empty() || !track.rate || *track.rate <= 0) return;
  const double weight = std::min(1.0, (now - looked_) / (options_.window * kAloneWindows));
  auto& alone = track.alone_measured;
  alone = alone ? *alone + (*track.rate - *alone) * weight : *track.rate;
}

void Guard::MeasureSm(Seconds now, const Standing& job,
                      std::span<const Standing* const> neighbours) {
  Track& track = tracks_.at(job.job);
  track.by_sm.reset();
  std::vector<SmDemand> all;
  std::size_t silent = 0;
  bool known = job.sm && job.gpus.size() == 1;
  const auto add = [&](const Standing& one) {
    const Track& its = tracks_.at(one.job);
    const auto alone = its.sm_alone();
    known = known && alone && one.gpus == job.gpus;
    if (!known) return;
    const auto slowdown = its.by_steps();
    all.push_back({*alone, slowdown ? std::optional(std::min(1.0, 1 / *slowdown)) : std::nullopt});
    silent += slowdown ? 0 : 1;
  };
  if (!neighbours.empty()) {
    add(job);
    for (const Standing* other : neighbours) add(*other);
  }
  auto& active = track.active;
  if (!known) active.clear();
  if (!known || now < track.neighbours_since + options_.settle) return;
  active.emplace_back(now, *job.sm);
  while (active.size() > 2 && active[1].first <= now - options_.window)
    active.erase(active.begin());
  if (now - active.front().first < options_.window) return;
  const double mean =
      std::accumulate(active.begin(), active.end(), 0.0,
                      [](double sum, const auto& entry) { return sum + entry.second; }) /
      static_cast<double>(active.size());
  if (neighbours.empty()) {
    // Nobody says when it trains; while it does not, it keeps less active.
    track.sm_measured = std::max(track.sm_measured.value_or(0), mean);
    return;
  }
  if (track.by_steps()) return;
  const auto speed = SilentSpeed(mean, all);
  if (!speed) return;
  track.by_sm = SlowdownOf(1, *speed);
  track.of_several = silent > 1;
}

bool Guard::Breaks(Seconds now, const Standing& job,
                   std::span<const Standing* const> neighbours) const {
  const Track& track = tracks_.at(job.job);
  const auto slowdown = track.slowdown();
  if (neighbours.empty() || !slowdown) return false;
  if (now - track.neighbours_since < options_.settle + options_.window) return false;
  const Ratio most = job.max_slowdown * options_.margin;
  if (*slowdown <= most) return false;
  if (!job.left) return true;
  std::optional<Seconds> others_end = Seconds(0);
  for (const Standing* other : neighbours) {
    if (!other->left || !others_end) {
      others_end.reset();
      continue;
    }
    const Ratio stretch = std::max(1.0, tracks_.at(other->job).slowdown().value_or(1));
    others_end = std::max(*others_end, *other->left * stretch);
  }
  return LifetimeSlowdown(job, *slowdown, others_end) > most;
}

Verdict Guard::Look(Seconds now, std::span<const Standing> running) {
  std::map<JobId, std::vector<const Standing*>> neighbours_of;
  for (const Standing& job : running) {
    auto& neighbours = neighbours_of[job.job];
    for (const Standing& other : running) {
      if (other.job != job.job && ShareAGpu(job, other)) neighbours.push_back(&other);
    }
    std::sort(neighbours.begin(), neighbours.end(),
              [](const Standing* a, const Standing* b) { return a->job < b->job; });
  }
  std::erase_if(tracks_, [&](const auto& entry) { return !neighbours_of.contains(entry.first); });
  for (const Standing& job : running) {
    std::vector<JobId> ids;
    for (const Standing* other : neighbours_of[job.job]) ids.push_back(other->job);
    Follow(now, job, std::move(ids));
  }
  for (const Standing& job : running) MeasureSm(now, job, neighbours_of[job.job]);
  looked_ = now;

  Verdict verdict;
  std::vector<JobId> leaving;  // everybody on GPUs that somebody leaves
  for (const Standing& job : running) {
    const auto& neighbours = neighbours_of[job.job];
    const bool breaks = Breaks(now, job, neighbours);
    Track& track = tracks_.at(job.job);
    if (neighbours.size() == 1 && tracks_.at(neighbours[0]->job).neighbours.size() == 1 &&
        !track.told) {
      Track& other = tracks_.at(neighbours[0]->job);
      const auto own = track.slowdown();
      const auto others = other.slowdown();
      // Half a measurement, or one of both together, is remembered only where it parts them.
      const bool each = others && (track.by_steps() || !track.of_several);
      if (own && (each || breaks)) {
        verdict.pairs.push_back({job.job, neighbours[0]->job, std::min(1.0, 1 / *own),
                                 others ? std::min(1.0, 1 / *others) : 1});
        track.told = other.told = true;
      }
    }
    if (!breaks || std::find(leaving.begin(), leaving.end(), job.job) != leaving.end()) continue;
    const Standing* newest = &job;
    leaving.push_back(job.job);
    for (const Standing* other : neighbours) {
      leaving.push_back(other->job);
      if (std::tie(other->started, other->job) > std::tie(newest->started, newest->job)) {
        newest = other;
      }
    }
    verdict.leave.push_back(newest->job);
  }
  // Said once: the newcomer gets its time to go.
  for (const JobId id : leaving) {
    Track& track = tracks_.at(id);
    track.neighbours_since = now;
    track.steps.clear();
    track.rate.reset();
    track.active.clear();
    track.by_sm.reset();
  }
  std::sort(verdict.leave.begin(), verdict.leave.end());
  return verdict;
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
  return {it->second.rate, it->second.alone(), it->second.slowdown()};
}

}  // namespace sharewell::control
