#include "simulation/usage/savings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/numbers/statistics.h"
#include "core/text/words.h"

namespace sharewell::simulation {

const char* const kHowSavingsAreFound =
    "Found by playing these jobs again with exclusive slots: each has its GPUs alone, in the same "
    "order, and a job that shared takes the time that it would have taken alone. A GPU counts "
    "while "
    "some job holds it, once however many share it; energy is its idle power while it is held, and "
    "above that what each job draws alone, times its speed.";

namespace {

using core::UnixMillis;

constexpr UnixMillis kNoTime = std::numeric_limits<UnixMillis>::max() / 4;

// When one GPU is taken: stretches that do not touch each other.
class Taken {
 public:
  // The first time from `at` on when it is free for so long.
  UnixMillis FreeFrom(UnixMillis at, UnixMillis length) const {
    auto next = busy_.upper_bound(at);
    if (next != busy_.begin()) at = std::max(at, std::prev(next)->second);
    for (; next != busy_.end() && next->first < at + length; ++next) {
      at = std::max(at, next->second);
    }
    return at;
  }

  void Take(UnixMillis from, UnixMillis to) {
    auto next = busy_.lower_bound(from);
    if (next != busy_.begin() && std::prev(next)->second == from) {
      from = std::prev(next)->first;
      busy_.erase(std::prev(next));
    }
    if (next != busy_.end() && next->first == to) {
      to = next->second;
      busy_.erase(next);
    }
    busy_[from] = to;
  }

 private:
  std::map<UnixMillis, UnixMillis> busy_;  // from, to
};

class SlotReplay {
 public:
  SlotReplay(const GpuTime& world, TimeSpan time)
      : world_(world), time_(time), taken_(world.gpus.size()), left_(world.gpus.size()) {
    for (std::size_t g = 0; g < world.gpus.size(); ++g) {
      by_node_[{world.gpus[g].model, world.gpus[g].node}].push_back(g);
      by_model_[world.gpus[g].model].push_back(g);
    }
  }

  std::vector<Stay> Play() {
    std::vector<Stay> out;
    out.reserve(world_.stays.size());
    for (const Stay& stay : world_.stays) {
      Stay alone = stay;
      const UnixMillis length = AloneMillis(stay);
      alone.from = length == 0 ? ReadyAt(stay) : Place(stay, ReadyAt(stay), length, alone.gpus);
      alone.to = alone.from + length;
      alone.speed = 1;
      for (const std::size_t gpu : alone.gpus) {
        if (length > 0) taken_[gpu].Take(alone.from, alone.to);
      }
      for (const std::size_t gpu : stay.gpus) {
        UnixMillis& left = left_[gpu][stay.to];
        left = std::max(left, alone.to);
      }
      ended_.emplace(stay.job->number, std::pair(stay.to, alone.to));
      out.push_back(std::move(alone));
    }
    return out;
  }

 private:
  static UnixMillis AloneMillis(const Stay& stay) {
    const UnixMillis took = stay.to - stay.from;
    if (!stay.shared) return took;
    return std::clamp<UnixMillis>(std::llround(static_cast<double>(took) * stay.speed), 0, took);
  }

  UnixMillis ReadyAt(const Stay& stay) const {
    const core::JobRecord& job = *stay.job;
    UnixMillis ready = stay.from;
    // What happened last of what it waited for: somebody left one of its GPUs, or a job that it
    // comes after ended. Really, and in the replay.
    std::optional<std::pair<UnixMillis, UnixMillis>> before;
    const auto consider = [&](const std::pair<const UnixMillis, UnixMillis>& end) {
      if (end.first < job.submitted || end.first > stay.from) return;
      if (!before || end.first > before->first) before = end;
    };
    for (const std::size_t gpu : stay.gpus) {
      const auto end = left_[gpu].upper_bound(stay.from);
      if (end != left_[gpu].begin()) consider(*std::prev(end));
    }
    for (const std::int64_t number : job.asked.after) {
      const auto other = ended_.find(number);
      if (other != ended_.end()) consider({other->second.first, other->second.second});
    }
    if (before && stay.from > time_.from) ready = before->second + (stay.from - before->first);
    ready = std::max({ready, std::min(job.submitted, stay.from), time_.from});
    for (const std::int64_t number : job.asked.after) {
      const auto other = ended_.find(number);
      if (other != ended_.end()) ready = std::max(ready, other->second.second);
    }
    return ready;
  }

  bool AreFree(const std::vector<std::size_t>& gpus, UnixMillis at, UnixMillis length) const {
    return std::all_of(gpus.begin(), gpus.end(),
                       [&](std::size_t gpu) { return taken_[gpu].FreeFrom(at, length) == at; });
  }

  // Sets `gpus`, which are its own before.
  UnixMillis Place(const Stay& stay, UnixMillis ready, UnixMillis length,
                   std::vector<std::size_t>& gpus) const {
    if (AreFree(stay.gpus, ready, length)) return ready;
    const UsedGpu& first = world_.gpus[stay.gpus.front()];
    const bool on_one = std::all_of(stay.gpus.begin(), stay.gpus.end(), [&](std::size_t gpu) {
      return world_.gpus[gpu].node == first.node;
    });
    const bool one_model = std::all_of(stay.gpus.begin(), stay.gpus.end(), [&](std::size_t gpu) {
      return world_.gpus[gpu].model == first.model;
    });
    UnixMillis best = kNoTime;
    const auto consider = [&](const std::vector<std::size_t>& among) {
      std::vector<std::size_t> found;
      const UnixMillis at = FirstFit(among, stay.gpus, ready, length, found);
      if (at < best) {
        best = at;
        gpus = std::move(found);
      }
    };
    consider(stay.gpus);
    if (!one_model) return best;
    if (!on_one || stay.gpus.size() == 1) {
      consider(by_model_.at(first.model));
      return best;
    }
    for (const auto& [key, among] : by_node_) {
      if (key.first == first.model && among.size() >= stay.gpus.size()) consider(among);
    }
    return best;
  }

  // The first time when as many of `among` are free at once as it has of its own.
  UnixMillis FirstFit(const std::vector<std::size_t>& among, const std::vector<std::size_t>& own,
                      UnixMillis at, UnixMillis length, std::vector<std::size_t>& found) const {
    const std::size_t many = own.size();
    if (among.size() < many) return kNoTime;
    std::vector<UnixMillis> free(among.size());
    for (;;) {
      for (std::size_t i = 0; i < among.size(); ++i) {
        free[i] = taken_[among[i]].FreeFrom(at, length);
      }
      std::vector<UnixMillis> sorted = free;
      const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(many - 1);
      std::nth_element(sorted.begin(), last, sorted.end());
      if (*last == at) break;
      at = *last;
    }
    for (std::size_t i = 0; i < among.size() && found.size() < many; ++i) {
      if (free[i] == at) found.push_back(among[i]);
    }
    return at;
  }

  const GpuTime& world_;
  TimeSpan time_;
  std::vector<Taken> taken_;
  std::vector<std::map<UnixMillis, UnixMillis>>
      left_;  // by GPU: real ends, and those of the replay
  // By job: when it really ended, and in the replay.
  std::unordered_map<std::int64_t, std::pair<UnixMillis, UnixMillis>> ended_;
  std::map<std::pair<std::string, std::size_t>, std::vector<std::size_t>> by_node_;
  std::map<std::string, std::vector<std::size_t>> by_model_;
};

SavingsSide SideOf(const GpuTime& world, const std::vector<Stay>& stays, TimeSpan time) {
  SavingsSide side;
  if (stays.empty()) return side;
  const GpuTotals totals = TotalsOf(world, stays);
  side.gpu_hours = static_cast<double>(totals.held) / 3600e3;
  if (totals.joules) side.energy_kwh = *totals.joules / 3.6e6;
  std::vector<double> jct, wait;
  UnixMillis first = kNoTime, last = 0;
  for (std::size_t s = 0; s < stays.size(); ++s) {
    const core::JobRecord& job = *stays[s].job;
    first = std::min(first, std::max(job.submitted, time.from));
    last = std::max(last, stays[s].to);
    if (core::IsOver(job.phase)) {
      jct.push_back(static_cast<double>(stays[s].to - job.submitted) / 1e3);
    }
    // Of one that had begun before the time, or had run before, how long it waited is another
    // story.
    if (world.stays[s].from > time.from && job.attempt <= 1) {
      wait.push_back(static_cast<double>(stays[s].from - job.submitted) / 1e3);
    }
  }
  side.makespan = static_cast<double>(last - std::min(first, last)) / 1e3;
  side.jct_mean = core::Mean(jct);
  side.wait_mean = core::Mean(wait);
  return side;
}

void Remark(const GpuTime& world, Savings& savings) {
  std::size_t unmeasured = 0, running = 0, no_power = 0;
  bool no_idle = false;
  for (const Stay& stay : world.stays) {
    unmeasured += stay.shared && !stay.speed_known ? 1U : 0U;
    running += core::IsOver(stay.job->phase) ? 0U : 1U;
    no_power += !stay.power || stay.power->value <= 0 ? 1U : 0U;
    for (const std::size_t gpu : stay.gpus) no_idle = no_idle || !world.gpus[gpu].idle;
  }
  const auto say = [&](bool so, std::string words) {
    if (so) savings.remarks.push_back(std::move(words));
  };
  say(running > 0, fmt::format("not over yet: {}, counted up to now on both sides",
                               core::Count(running, "job")));
  say(unmeasured > 0,
      fmt::format("shared, and how much that slowed them is not known: {}, taken to have run at "
                  "full speed; what is saved is at most what is told",
                  core::Count(unmeasured, "job")));
  say(world.earlier_runs > 0,
      fmt::format("started more than once: {}, of which the last run counts on both sides",
                  core::Count(world.earlier_runs, "job")));
  say(no_idle, "energy is unknown: nobody has measured what the GPUs draw when idle");
  say(!no_idle && no_power > 0,
      fmt::format("energy is unknown: of {} of {} nobody knows what {} draws", no_power,
                  core::Count(world.stays.size(), "job"), no_power == 1 ? "it" : "each"));
}

}  // namespace

SavingsSide SavedOf(const Savings& savings) {
  const auto less = [&](auto figure) -> std::optional<double> {
    const auto &then = savings.exclusive.*figure, &now = savings.really.*figure;
    return then && now ? std::optional(*then - *now) : std::nullopt;
  };
  return {savings.exclusive.gpu_hours - savings.really.gpu_hours, less(&SavingsSide::energy_kwh),
          less(&SavingsSide::makespan), less(&SavingsSide::jct_mean),
          less(&SavingsSide::wait_mean)};
}

Savings SavingsOf(const GpuTime& world, TimeSpan time) {
  Savings savings;
  savings.jobs = world.stays.size();
  savings.shared = static_cast<std::size_t>(std::count_if(
      world.stays.begin(), world.stays.end(), [](const Stay& stay) { return stay.shared; }));
  savings.really = SideOf(world, world.stays, time);
  savings.exclusive = SideOf(world, SlotReplay(world, time).Play(), time);
  Remark(world, savings);
  return savings;
}

}  // namespace sharewell::simulation
