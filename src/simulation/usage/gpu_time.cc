#include "simulation/usage/gpu_time.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "catalogue/gpu_catalogue.h"

namespace sharewell::simulation {
namespace {

using core::JobRecord;
using core::UnixMillis;

// Only what holds its GPUs, or held them last.
bool HeldGpus(const JobRecord& job) {
  if (job.gpus.empty() || !(job.resumed || job.started)) return false;
  return core::IsOver(job.phase)
             ? job.ended.has_value()
             : job.phase != core::Phase::kWaiting && job.phase != core::Phase::kHeld;
}

class GpuTimeBuilder {
 public:
  GpuTimeBuilder(const core::Cluster& cluster, std::span<const core::GivenGpu> gpus, TimeSpan time)
      : cluster_(cluster), time_(time) {
    for (std::size_t g = 0; g < gpus.size() && g < cluster.gpu_count(); ++g) {
      const core::GpuId id(g);
      Add(gpus[g], cluster.model(cluster.ModelOf(id)), cluster.NodeOf(id).index());
    }
  }

  void Take(const JobRecord& job) {
    if (job.asked.gpus == 0) ++out_.without_gpus;
    if (!HeldGpus(job)) return;
    Stay stay;
    stay.job = &job;
    stay.from = std::max(job.resumed.value_or(job.started.value_or(0)), time_.from);
    stay.to = std::min(job.ended.value_or(time_.to), time_.to);
    if (stay.to < stay.from) return;
    if (job.attempt > 1) ++out_.earlier_runs;
    for (const core::GivenGpu& gpu : job.gpus) stay.gpus.push_back(IndexOf(gpu));
    std::sort(stay.gpus.begin(), stay.gpus.end());
    stay.gpus.erase(std::unique(stay.gpus.begin(), stay.gpus.end()), stay.gpus.end());
    stay.power = PowerOf(job);
    out_.stays.push_back(std::move(stay));
  }

  GpuTime Done() {
    std::sort(out_.stays.begin(), out_.stays.end(), [](const Stay& a, const Stay& b) {
      const auto start = [](const Stay& s) { return s.job->resumed.value_or(*s.job->started); };
      return std::pair(start(a), a.job->number) < std::pair(start(b), b.job->number);
    });
    FindShared();
    for (Stay& stay : out_.stays) {
      if (stay.shared) SetSpeed(stay);
    }
    return std::move(out_);
  }

 private:
  void Add(const core::GivenGpu& gpu, const core::GpuModel& model, std::size_t node) {
    by_uuid_.emplace(gpu.uuid, out_.gpus.size());
    out_.gpus.push_back({gpu.uuid, gpu.model, node, model.idle_power, model.power_limit});
  }

  // One that is gone is on a node of its own.
  std::size_t IndexOf(const core::GivenGpu& gpu) {
    const auto found = by_uuid_.find(gpu.uuid);
    if (found != by_uuid_.end()) return found->second;
    Add(gpu, catalogue_.Find(gpu.model).value_or(core::GpuModel{}),
        cluster_.nodes().size() + out_.gpus.size());
    return out_.gpus.size() - 1;
  }

  // As it was seen, else as it was believed of the GPU model that it got.
  std::optional<core::Watts> PowerOf(const JobRecord& job) const {
    if (job.seen.power) return job.seen.power;
    const core::Profile& believed = job.believed.profile;
    const std::string& model = job.gpus.front().model;
    const auto known = catalogue_.Find(model), of = catalogue_.Find(believed.gpu);
    const bool same = believed.gpu == model || (known && of && known->name == of->name);
    return same ? believed.power : std::nullopt;
  }

  // Two that have a GPU at the same time. In order of their beginnings, the last end of those
  // before tells whether somebody is still there.
  void FindShared() {
    std::vector<std::vector<std::size_t>> on(out_.gpus.size());
    for (std::size_t s = 0; s < out_.stays.size(); ++s) {
      for (const std::size_t gpu : out_.stays[s].gpus) on[gpu].push_back(s);
    }
    for (auto& all : on) {
      std::stable_sort(all.begin(), all.end(), [this](std::size_t a, std::size_t b) {
        return out_.stays[a].from < out_.stays[b].from;
      });
      std::optional<std::size_t> last;  // who ends last of those that have begun
      for (const std::size_t s : all) {
        Stay& stay = out_.stays[s];
        if (stay.from == stay.to) continue;
        if (last && out_.stays[*last].to > stay.from) {
          stay.shared = out_.stays[*last].shared = true;
        }
        if (!last || stay.to > out_.stays[*last].to) last = s;
      }
    }
  }

  static void SetSpeed(Stay& stay) {
    const JobRecord& job = *stay.job;
    if (job.alone_time && job.alone_time->value > 0 && job.run_time.value > 0) {
      stay.speed = std::min(1.0, *job.alone_time / job.run_time);
    } else if (job.slowdown) {
      stay.speed = 1 / std::max(1.0, *job.slowdown);
    } else {
      stay.speed_known = false;
    }
  }

  const core::Cluster& cluster_;
  const catalogue::GpuCatalogue catalogue_ = catalogue::GpuCatalogue::Builtin();
  TimeSpan time_;
  GpuTime out_;
  std::unordered_map<std::string, std::size_t> by_uuid_;
};

// What goes on on one GPU: calls `part(from, to, stays there)` for every stretch without a change.
template <class Part>
void ForEachPart(std::span<const Stay* const> stays, Part part) {
  std::multimap<UnixMillis, std::pair<bool, const Stay*>> changes;
  for (const Stay* stay : stays) {
    if (stay->from == stay->to) continue;
    changes.emplace(stay->from, std::pair(true, stay));
    changes.emplace(stay->to, std::pair(false, stay));
  }
  std::vector<const Stay*> there;
  UnixMillis since = 0;
  for (const auto& [time, change] : changes) {
    if (!there.empty() && time > since) part(since, time, there);
    since = time;
    if (change.first) {
      there.push_back(change.second);
    } else {
      there.erase(std::find(there.begin(), there.end(), change.second));
    }
  }
}

std::vector<std::vector<const Stay*>> ByGpu(const GpuTime& world, std::span<const Stay> stays) {
  std::vector<std::vector<const Stay*>> on(world.gpus.size());
  for (const Stay& stay : stays) {
    for (const std::size_t gpu : stay.gpus) on[gpu].push_back(&stay);
  }
  return on;
}

std::optional<double> WattsOf(const UsedGpu& gpu, std::span<const Stay* const> there) {
  if (!gpu.idle) return std::nullopt;
  double watts = gpu.idle->value;
  for (const Stay* stay : there) {
    if (!stay->power || stay->power->value <= 0) return std::nullopt;
    watts += std::max(0.0, stay->power->value - gpu.idle->value) * stay->speed;
  }
  return gpu.limit ? std::min(watts, gpu.limit->value) : watts;
}

}  // namespace

GpuTime GpuTimeOf(UsageRecords records, const core::Cluster& cluster,
                  std::span<const core::GivenGpu> gpus, TimeSpan time) {
  GpuTimeBuilder builder(cluster, gpus, time);
  for (const JobRecord* record : records) builder.Take(*record);
  return builder.Done();
}

GpuTotals TotalsOf(const GpuTime& world, std::span<const Stay> stays) {
  GpuTotals totals;
  totals.joules = 0;
  const auto on = ByGpu(world, stays);
  for (std::size_t g = 0; g < on.size(); ++g) {
    ForEachPart(on[g], [&](UnixMillis from, UnixMillis to, const auto& there) {
      totals.held += to - from;
      if (there.size() > 1) totals.shared += to - from;
      const auto watts = WattsOf(world.gpus[g], there);
      if (!watts) totals.joules.reset();
      if (totals.joules) *totals.joules += *watts * static_cast<double>(to - from) / 1e3;
    });
  }
  return totals;
}

std::vector<double> OwnParts(const GpuTime& world) {
  std::vector<double> own(world.stays.size());
  for (const auto& stays : ByGpu(world, world.stays)) {
    ForEachPart(stays, [&](UnixMillis from, UnixMillis to, const auto& there) {
      for (const Stay* stay : there) {
        own[static_cast<std::size_t>(stay - world.stays.data())] +=
            static_cast<double>(to - from) / static_cast<double>(there.size());
      }
    });
  }
  for (std::size_t s = 0; s < own.size(); ++s) {
    const Stay& stay = world.stays[s];
    const double all =
        static_cast<double>(stay.to - stay.from) * static_cast<double>(stay.gpus.size());
    own[s] = all > 0 ? own[s] / all : 1;
  }
  return own;
}

std::vector<GpuTotals> OverTime(const GpuTime& world, TimeSpan time, std::size_t bins) {
  std::vector<GpuTotals> out(bins);
  if (time.to <= time.from || bins == 0) return out;
  const auto begin_of = [&](std::size_t bin) {
    return time.from +
           (time.to - time.from) * static_cast<UnixMillis>(bin) / static_cast<UnixMillis>(bins);
  };
  for (const auto& stays : ByGpu(world, world.stays)) {
    std::size_t bin = 0;
    ForEachPart(stays, [&](UnixMillis from, UnixMillis to, const auto& there) {
      while (bin + 1 < bins && begin_of(bin + 1) <= from) ++bin;
      for (std::size_t b = bin; b < bins && begin_of(b) < to; ++b) {
        const UnixMillis in = std::min(to, begin_of(b + 1)) - std::max(from, begin_of(b));
        out[b].held += in;
        if (there.size() > 1) out[b].shared += in;
      }
    });
  }
  return out;
}

}  // namespace sharewell::simulation
