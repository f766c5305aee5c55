#include "policy/placement/match.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "policy/order/gain.h"

namespace sharewell::policy {
namespace {

using core::GpuModelId;
using core::JobId;
using core::JobView;
using core::Reason;
namespace reason = core::reason;
using core::Snapshot;

constexpr double kSlowerShare = 7.0 / 8;

// For the mix alone, where only proportions count: unknown durations are equal.
double DurationOf(const JobView& view) {
  return view.estimate.duration ? view.estimate.duration->value : 1;
}

// What a job of unknown length is taken to last where its patience is counted in durations: as long
// as those that run have run so far, ten minutes at least. Of very many, some say it too.
constexpr double kLeastUnknown = 600;
constexpr std::size_t kMostAsked = 256;

double UsualLength(const Snapshot& snapshot) {
  const auto running = snapshot.running().first(std::min(snapshot.running().size(), kMostAsked));
  double sum = 0;
  for (const JobId id : running) sum += snapshot.run_time(snapshot.job(id)).value;
  return std::max(kLeastUnknown, sum / std::max(1.0, static_cast<double>(running.size())));
}

// Which model each of the first `counted` jobs is planned for.
struct MatchScratch : Scratch {
  std::size_t counted = 0;
  std::vector<GpuModelId> planned;                     // by job
  std::vector<std::pair<double, GpuModelId>> by_gain;  // falling gain: for jobs not counted yet
};

// The mix is taken anew when it has grown by about 1 %: the eight leading bits of the number of
// jobs.
std::size_t Counted(std::size_t jobs) {
  const int width = static_cast<int>(std::bit_width(jobs));
  return width <= 8 ? jobs : jobs >> (width - 8) << (width - 8);
}

std::vector<GpuModelId> FastestFirst(const Snapshot& snapshot, std::size_t counted) {
  const std::size_t models = snapshot.cluster().models().size();
  std::vector<double> rate(models, 0);
  for (std::size_t j = 0; j < counted; ++j) {
    for (std::size_t m = 0; m < models; ++m) {
      rate[m] += snapshot.job(JobId(j)).estimate.On(GpuModelId(m)).rate;
    }
  }
  std::vector<GpuModelId> order;
  for (std::size_t m = 0; m < models; ++m) order.push_back(GpuModelId(m));
  std::stable_sort(order.begin(), order.end(),
                   [&](GpuModelId a, GpuModelId b) { return rate[a.index()] > rate[b.index()]; });
  return order;
}

void PlanMix(const Snapshot& snapshot, MatchScratch& scratch) {
  const std::size_t counted = Counted(snapshot.job_count());
  if (scratch.counted == counted && !scratch.planned.empty()) return;
  scratch.counted = counted;
  const auto models = FastestFirst(snapshot, counted);
  std::vector<std::pair<double, JobId>> jobs;  // (-gain, id)
  for (std::size_t j = 0; j < counted; ++j) {
    const JobView& view = snapshot.job(JobId(j));
    if (!view.cpu_only()) jobs.emplace_back(-GainOf(snapshot, view), JobId(j));
  }
  std::sort(jobs.begin(), jobs.end());
  scratch.planned.assign(counted, models.front());
  // The least time T in which the fastest can be done with the top of the list, the next with what
  // follows in 7/8 T, and so on; found by halving.
  const auto assign = [&](double time) {
    std::size_t k = 0;
    double room = time * snapshot.cluster().CountOf(models[0]);
    for (const auto& [minus_gain, id] : jobs) {
      const JobView& view = snapshot.job(id);
      while (k < models.size()) {
        const double rate = view.estimate.On(models[k]).rate;
        const double cost = rate > 0 ? view.job.gpus * DurationOf(view) / rate : 0;
        if (rate > 0 && room >= cost) {
          room -= cost;
          break;
        }
        if (++k < models.size()) {
          time *= kSlowerShare;
          room = time * snapshot.cluster().CountOf(models[k]);
        }
      }
      if (k == models.size()) return false;
      scratch.planned[id.index()] = models[k];
    }
    return true;
  };
  double high = 1;
  while (!assign(high) && high < 1e15) high *= 2;
  double low = 0;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (assign(middle) ? high : low) = middle;
  }
  assign(high);
  scratch.by_gain.clear();
  for (const auto& [minus_gain, id] : jobs) {
    scratch.by_gain.emplace_back(-minus_gain, scratch.planned[id.index()]);
  }
}

class Match : public Placement {
 public:
  std::unique_ptr<Scratch> NewScratch() const override { return std::make_unique<MatchScratch>(); }

  Choice Place(const Context& context, const JobView& view) const override {
    const Snapshot& snapshot = context.snapshot;
    const double gain = GainOf(snapshot, view);
    auto& scratch = *static_cast<MatchScratch*>(context.scratch);
    PlanMix(snapshot, scratch);
    const GpuModelId model = PlannedFor(scratch, view, gain);
    // A gang that its model cannot hold, or a job that lost patience, takes what there is.
    const bool any = !Allowed(view, model) || snapshot.cluster().CountOf(model) < view.job.gpus ||
                     snapshot.now() >= PatientUntil(context, view, std::nullopt);
    if (any) {
      if (auto to = OnAnyIdleGpus(context, view)) {
        return Chosen{std::move(*to), reason::IdleGpu{}, {}};
      }
      return reason::NoIdleGpu{};
    }
    if (auto to = OnIdleGpus(context, view, model)) {
      const bool best = view.estimate.On(model).rate * 1.0001 >= Best(snapshot, view);
      return Chosen{
          std::move(*to),
          best ? Reason(reason::BetterModel{gain}) : Reason(reason::LeavesBetterModel{gain}),
          {}};
    }
    return reason::NoIdleGpu{};
  }

  std::optional<core::Seconds> WakeAt(const Context& context) const override {
    std::optional<core::Seconds> first;
    const double usual = UsualLength(context.snapshot);
    for (JobId id : context.snapshot.waiting()) {
      const core::Seconds until = PatientUntil(context, context.snapshot.job(id), usual);
      if (until > context.snapshot.now() && std::isfinite(until.value)) {
        first = first ? std::min(*first, until) : until;
      }
    }
    return first;
  }

 private:
  // `usual`: UsualLength, where it is worked out already.
  static core::Seconds PatientUntil(const Context& context, const JobView& view,
                                    std::optional<double> usual) {
    const double length = view.estimate.duration ? view.estimate.duration->value
                          : usual                ? *usual
                                                 : UsualLength(context.snapshot);
    return view.since + core::Seconds(context.options.match_patience * length);
  }

  static GpuModelId PlannedFor(const MatchScratch& scratch, const JobView& view, double gain) {
    if (view.job.id.index() < scratch.counted) return scratch.planned[view.job.id.index()];
    for (const auto& [other, model] : scratch.by_gain) {
      if (other <= gain) return model;
    }
    return scratch.by_gain.empty() ? GpuModelId(0) : scratch.by_gain.back().second;
  }

  static double Best(const Snapshot& snapshot, const JobView& view) {
    double best = 0;
    for (std::size_t m = 0; m < snapshot.cluster().models().size(); ++m) {
      if (Allowed(view, GpuModelId(m))) best = std::max(best, view.estimate.On(GpuModelId(m)).rate);
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Placement> NewMatchPlacement() { return std::make_unique<Match>(); }

}  // namespace sharewell::policy
