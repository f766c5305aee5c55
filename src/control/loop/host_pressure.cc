#include "control/loop/host_pressure.h"

#include <algorithm>
#include <set>

namespace sharewell::control {
namespace {

using core::JobId;
using core::NodeId;
using core::Ratio;
using core::Seconds;

constexpr Ratio kStarves = 0.92;
constexpr Ratio kFine = 0.96;
constexpr Ratio kSlower = 0.5;
constexpr Ratio kFaster = 1.25;
// A rate is of a window; a step shows in it a little later.
constexpr Seconds kSlowEvery{8};
constexpr Seconds kLooseEvery{20};
constexpr Seconds kMostInVain{45};
constexpr Ratio kHelped = 0.03;

}  // namespace

void HostPressure::Step(Seconds now, const std::optional<Worst>& worst, Room& room) const {
  const Seconds since = now - room.stepped;
  if (!worst) {  // nobody is there who could be helped
    room.share = 1;
    room.because = {};
    return;
  }
  const bool held = room.share < 1;
  if (held && room.share <= kLeastShare && since >= kMostInVain && room.because == worst->job &&
      worst->speed < std::min(kFine, room.speed_before + kHelped)) {
    room.acquits.push_back(worst->job);
    room.share = 1;
    room.because = {};
    room.stepped = now;
    return;
  }
  if (worst->speed < kStarves && since >= kSlowEvery && room.share > kLeastShare) {
    if (!held) room.speed_before = worst->speed;
    room.because = worst->job;
    room.share = std::max(kLeastShare, room.share * kSlower);
    room.stepped = now;
  } else if (held && worst->speed > kFine && since >= kLooseEvery) {
    room.share = room.share * kFaster > 0.95 ? 1 : room.share * kFaster;
    if (room.share == 1) room.because = {};
    room.stepped = now;
  }
}

std::vector<HostShare> HostPressure::Look(Seconds now, std::span<const HostSufferer> training,
                                          const std::map<NodeId, std::vector<JobId>>& cpu_jobs) {
  std::set<JobId> live;
  for (const HostSufferer& one : training) {
    live.insert(one.job);
    double best = one.steps_alone.value_or(0);
    if (one.steps_per_second) best = std::max(best, *one.steps_per_second);
    if (best > 0) best_[one.job] = std::max(best_[one.job], best);
  }
  std::erase_if(best_, [&](const auto& entry) { return !live.contains(entry.first); });
  std::vector<HostShare> changed;
  for (const auto& [node, jobs] : cpu_jobs) {
    if (jobs.empty()) continue;
    const auto [at, fresh] = nodes_.try_emplace(node);
    Room& room = at->second;
    std::vector<JobId> there = jobs;
    for (const HostSufferer& one : training) {
      if (one.node == node) there.push_back(one.job);
    }
    std::sort(there.begin(), there.end());
    if (fresh || there != room.there) {
      room.there = std::move(there);
      room.acquits.clear();
      room.stepped = now;  // what comes or goes is waited for
    }
    std::optional<Worst> worst;
    for (const HostSufferer& one : training) {
      const bool acquits =
          std::find(room.acquits.begin(), room.acquits.end(), one.job) != room.acquits.end();
      if (one.node != node || acquits || !one.steps_per_second || best_[one.job] <= 0) continue;
      const Ratio speed = *one.steps_per_second / best_[one.job];
      if (!worst || speed < worst->speed) worst = Worst{one.job, speed};
    }
    const Ratio before = room.share;
    Step(now, worst, room);
    if (room.share != before) changed.push_back({node, room.share, room.because});
  }
  // Where no CPU-only job runs any more there is nobody to hold.
  std::erase_if(nodes_, [&](const auto& entry) {
    const auto found = cpu_jobs.find(entry.first);
    return found == cpu_jobs.end() || found->second.empty();
  });
  return changed;
}

void HostPressure::Renumber(const core::Renumbering& ids) {
  const auto renumbered = [&](std::vector<JobId>& jobs) {
    for (JobId& id : jobs) id = ids.Of(id);
    std::erase_if(jobs, [](JobId id) { return !id.valid(); });
  };
  for (auto& [node, room] : nodes_) {
    renumbered(room.there);
    renumbered(room.acquits);
    if (room.because.valid()) room.because = ids.Of(room.because);
  }
  std::map<JobId, double> best;
  for (const auto& [id, rate] : best_) {
    if (const JobId now = ids.Of(id); now.valid()) best[now] = rate;
  }
  best_ = std::move(best);
}

}  // namespace sharewell::control
