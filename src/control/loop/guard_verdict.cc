// Who is slowed by whom, and who leaves.
#include <algorithm>
#include <tuple>

#include "control/loop/guard.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Ratio;
using core::Seconds;

constexpr Ratio kFelt = 1.03;     // a slowdown of its own that says: the co-location is real
constexpr double kAsMuch = 0.9;   // of the most that anybody costs: then the newest leaves
constexpr Ratio kSlowest = 0.05;  // nobody is reckoned slower when what it keeps is weighed

// Time beside others and alone until the end, over what the whole run takes alone. It is beside
// others until it ends or the last of the others does.
Ratio LifetimeSlowdown(const Standing& job, Ratio slowdown, std::optional<Seconds> others_end) {
  Seconds together = *job.left * slowdown;
  if (others_end) together = std::min(together, *others_end);
  const Seconds rest = *job.left - together / slowdown;
  return (job.run_time + together + rest) / (job.alone_time + *job.left);
}

bool SameUser(const Standing& a, const Standing& b) {
  return !a.user.valid() || !b.user.valid() || a.user == b.user;
}

}  // namespace

Ratio Guard::ByNeighbours(const Standing& job, Ratio slowdown) {
  return job.own_share && job.sm_share < 1 ? slowdown * job.share_speed.value_or(1) : slowdown;
}

bool Guard::Slow(const Standing& job, const Track& track) const {
  const auto& [newest, before] = track.slow();
  const Ratio most = job.max_slowdown * options_.margin;
  if (!newest || ByNeighbours(job, *newest) <= most) return false;
  if (ByNeighbours(job, *newest) > most * options_.far) return true;
  return before && ByNeighbours(job, *before) > most;
}

bool Guard::Keeps(const Standing& job, const Track& track) const {
  const Ratio most = job.max_slowdown * options_.margin;
  const auto& [newest, before] = track.slow();
  return newest && before && ByNeighbours(job, *newest) <= most &&
         ByNeighbours(job, *before) <= most;
}

bool Guard::Slowed(Seconds now, const Standing& job, const Track& track) const {
  if (!Slow(job, track)) return false;
  const bool lasts = track.slow_since && now - *track.slow_since >= options_.patience;
  if (!track.told) return lasts;
  if (!track.news) return false;  // nothing new is known: it may pause
  // SM activity says that it does its work: it only tells fewer steps.
  if (track.by_sm && ByNeighbours(job, *track.by_sm) <= job.max_slowdown) return false;
  if (track.kept_pace && !track.kept_beside) return true;  // since they came
  if (track.by_sm && track.sm && *track.sm >= options_.full) return true;
  return lasts;
}

bool Guard::Breaks(Seconds now, const Standing& job, const Neighbours& neighbours) const {
  const Track& track = tracks_.at(job.job);
  if (neighbours.empty() || !Slowed(now, job, track)) return false;
  if (!job.left) return true;
  std::optional<Seconds> others_end = Seconds(0);
  for (const Standing* other : neighbours) {
    if (!other->left || !others_end) {
      others_end.reset();
      continue;
    }
    const Ratio stretch = std::max(1.0, 1 / std::max(tracks_.at(other->job).speed(), kSlowest));
    others_end = std::max(*others_end, *other->left * stretch);
  }
  const Ratio slowdown = ByNeighbours(job, *track.slow().newest);
  return LifetimeSlowdown(job, slowdown, others_end) > job.max_slowdown * options_.margin;
}

bool Guard::MayEvict(const Standing& slowed, const Standing& other) const {
  if (SameUser(slowed, other)) return true;
  // Its own steps are what a user says; SM activity is what we see. That the other feels it too
  // is what nobody can feign who merely waits.
  const Track& track = tracks_.at(slowed.job);
  const bool agree = track.told && track.by_sm;  // what disagrees was not judged
  const auto felt = tracks_.at(other.job).slow().newest;
  return agree && felt && *felt >= kFelt;
}

// What it is to blame for of the others' losses, for what it keeps itself. Of several neighbours
// who keep SMs active are to blame as they do; where that is not known, all alike.
double Guard::CostOf(const Standing& one, const Neighbours& all) const {
  const Track& track = tracks_.at(one.job);
  const bool known = std::all_of(all.begin(), all.end(), [&](const Standing* other) {
    return tracks_.at(other->job).sm_alone().has_value();
  });
  const auto weight = [&](JobId id) {
    const Track& its = tracks_.at(id);
    return known ? *its.sm_alone() * its.speed() : 1.0;
  };
  double blame = 0;
  for (const JobId other : track.neighbours) {
    const Track& its = tracks_.at(other);
    double together = 0;
    for (const JobId id : its.neighbours) together += weight(id);
    if (together > 0) blame += (1 - its.speed()) * weight(one.job) / together;
  }
  return blame / std::max(track.speed(), kSlowest);
}

// Whoever costs the others most for what he keeps. Ties, and nearly: the newest.
const Standing* Guard::WhoLeaves(const Standing& slowed, const Neighbours& neighbours) const {
  Neighbours all = neighbours;
  all.push_back(&slowed);
  // Who came as a guest was let in on condition that nobody suffers by it.
  for (const Standing* one : all) {
    if (one->guest && one->may_leave && one->evicted < options_.most_evictions) return one;
  }
  std::vector<std::pair<double, const Standing*>> costs;
  double most = 0;
  for (const Standing* one : all) {
    if (one->evicted >= options_.most_evictions || !one->may_leave) continue;
    if (one != &slowed && !MayEvict(slowed, *one)) continue;
    costs.emplace_back(CostOf(*one, all), one);
    most = std::max(most, costs.back().first);
  }
  const Standing* leaves = nullptr;
  for (const auto& [cost, one] : costs) {
    if (cost < most * kAsMuch) continue;
    if (leaves == nullptr ||
        std::tie(one->started, one->job) > std::tie(leaves->started, leaves->job)) {
      leaves = one;
    }
  }
  return leaves;
}

void Guard::AddPair(Seconds now, const Standing& job, const Standing& other, bool breaks,
                    Verdict& verdict) {
  Track &own = tracks_.at(job.job), &others = tracks_.at(other.job);
  const auto both = [](const Slowdowns& of) -> std::optional<Ratio> {
    if (!of.newest || !of.before) return std::nullopt;
    return 2 / (1 / *of.newest + 1 / *of.before);
  };
  const auto slowdown = breaks ? own.slow().newest : both(own.slow());
  const auto beside = breaks ? others.slow().newest : both(others.slow());
  if (!slowdown || (breaks && own.stay_told)) return;
  if (!breaks) {
    // Half a measurement, or one of both together, is remembered only where it parts them; so is
    // one of a job that may be slow by itself.
    const bool each =
        beside && (own.told || !own.of_several) && (others.told || !others.of_several);
    if (own.pair_told || !each || !Keeps(job, own) || !Keeps(other, others)) return;
  }
  const auto speed = [](Ratio of) { return std::min(1.0, 1 / of); };
  const MeasuredPair pair{.a = job.job,
                          .b = other.job,
                          .speed_a = speed(*slowdown),
                          .speed_b = beside ? std::optional(speed(*beside)) : std::nullopt,
                          .sm_share_a = job.sm_share,
                          .sm_share_b = other.sm_share,
                          .broke = breaks,
                          .over = now - std::max(own.since, others.since) - options_.settle};
  // Both may break their bounds in one look.
  const bool said =
      std::any_of(verdict.pairs.begin(), verdict.pairs.end(),
                  [&](const MeasuredPair& p) { return p.a == pair.b && p.b == pair.a; });
  if (!said) verdict.pairs.push_back(pair);
  own.pair_told = others.pair_told = true;
}

}  // namespace sharewell::control
