#include "policy/placement/sm_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/sm_share.h"
#include "policy/colocation.h"
#include "policy/order/drain.h"

namespace sharewell::policy {
namespace {

using core::GpuModelId;
using core::JobId;
using core::JobView;
using core::Ratio;

constexpr double kWorthNarrower = 1.05;
constexpr std::size_t kPartners = 8;   // tried
constexpr std::size_t kLookedAt = 64;  // to find them
// On larger clusters every start has all SMs: to weigh shares for thousands of jobs at once would
// make a decision too long.
constexpr std::size_t kMostGpus = 1024;

bool PolicyDecides(const Context& context, const JobView& view, GpuModelId model) {
  const core::Demand& demand = view.estimate.On(model).demand;
  return context.options.sm_shares && context.snapshot.cluster().gpu_count() <= kMostGpus &&
         context.options.max_jobs_on_gpu > 1 && demand.known && demand.kernel_time &&
         MayShare(view) && !view.job.sm_share && view.state != core::JobState::kRunning;
}

// Some of `from` that could be put beside the job on that GPU model.
std::vector<JobId> Partners(const Context& context, const JobView& view, GpuModelId model,
                            std::span<const JobId> from) {
  std::vector<JobId> partners;
  const auto memory = context.snapshot.cluster().model(model).memory;
  for (std::size_t i = 0; i < from.size() && i < kLookedAt; ++i) {
    const JobView& other = context.snapshot.job(from[i]);
    const bool waits = other.state == core::JobState::kWaiting;
    if (from[i] == view.job.id || (waits && context.ledger.planned(from[i]))) continue;
    if (other.job.placeholder || !MayShare(other) || !Allowed(other, model)) continue;
    const core::Demand& demand = other.estimate.On(model).demand;
    if (!demand.known || !demand.kernel_time) continue;
    if (view.estimate.gpu_memory_upper + other.estimate.gpu_memory_upper > memory) continue;
    partners.push_back(from[i]);
    if (partners.size() == kPartners) break;
  }
  return partners;
}

// What a GPU does with the job at each of the shares.
struct Worth {
  double alone = 1;
  double together = 1;  // with a partner
  JobId partner;
};
using Worths = std::array<Worth, kSmShares.size()>;

// The most that the two do together with that share for the job; absent: a bound would break.
std::optional<double> SumWith(const Context& context, GpuModelId model, Colocation& pair,
                              bool waits) {
  std::optional<double> best;
  const auto bounds_kept = [&] {
    const Ratio most = context.options.max_slowdown;
    return waits ? !pair.WhoBreaksItsBound(most) : pair.KeepsBoundsNow(most);
  };
  for (const Ratio other : SharesFor(context, context.snapshot.job(pair.job(1)), model)) {
    pair.Limit(1, other);
    const double sum = pair.SumOfSpeeds();
    if (best && sum <= *best) continue;
    if (pair.Fits() && bounds_kept()) best = sum;
  }
  return best;
}

// By the share with which the job gains most over its life, a partner being there for `part` of it.
// `most_lasting`: of work a GPU, within which it must be done, at the pace of the two together.
IdleShare BestOf(const Worths& worths, double part, double left, double most_lasting) {
  const auto value = [&](const Worth& w) { return part * w.together + (1 - part) * w.alone; };
  IdleShare best{kSmShares[0], {}};
  double most = value(worths[0]) * kWorthNarrower;
  for (std::size_t s = 1; s < kSmShares.size(); ++s) {
    if (value(worths[s]) <= most) continue;
    if (left / worths[s].alone > most_lasting / worths[s].together) continue;
    best = {kSmShares[s], worths[s].partner};
    most = value(worths[s]) + kSpeedsAlike;
  }
  return best;
}

double LeftOn(const Context& context, const JobView& view, GpuModelId model) {
  return ExpectedRemaining(context.snapshot, view) / view.estimate.On(model).rate;
}

// The best of those who wait.
Worths WithWhoWaits(const Context& context, const JobView& view, GpuModelId model,
                    const std::vector<JobId>& partners, Worths worths) {
  for (const JobId id : partners) {
    Colocation pair(context.snapshot, *context.options.interference, model, {});
    pair.Join(view.job.id);
    pair.Join(id);
    for (std::size_t s = 0; s < kSmShares.size(); ++s) {
      // Not even at full speed beside it would the partner make up for it.
      if (s > 0 && worths[s].alone + 1 <= worths[s].together) continue;
      pair.Limit(0, kSmShares[s]);
      const auto sum = SumWith(context, model, pair, true);
      if (sum && *sum > worths[s].together) {
        worths[s].together = *sum;
        worths[s].partner = id;
      }
    }
  }
  return worths;
}

// The mean over those who run: who comes is like one of them.
Worths WithWhoRuns(const Context& context, const JobView& view, GpuModelId model,
                   const std::vector<JobId>& partners, Worths worths) {
  for (Worth& worth : worths) worth.together = 0;
  for (const JobId id : partners) {
    Colocation pair(context.snapshot, *context.options.interference, model, {});
    pair.Join(view.job.id);
    pair.Join(id);
    for (std::size_t s = 0; s < kSmShares.size(); ++s) {
      pair.Limit(0, kSmShares[s]);
      const auto sum = SumWith(context, model, pair, false);
      worths[s].together +=
          std::max(sum.value_or(0), worths[s].alone) / static_cast<double>(partners.size());
    }
  }
  return worths;
}

}  // namespace

std::span<const Ratio> SharesFor(const Context& context, const JobView& view, GpuModelId model) {
  const std::span<const Ratio> all(kSmShares);
  if (PolicyDecides(context, view, model)) return all;
  if (core::StandingShare(view) >= 1) return all.first(1);
  if (view.state == core::JobState::kRunning) return {&view.allocation.sm_share, 1};
  return {&*view.job.sm_share, 1};
}

IdleShare ShareOnIdle(const Context& context, const JobView& view, GpuModelId model) {
  const core::Snapshot& snapshot = context.snapshot;
  const IdleShare standing{core::StandingShare(view), {}};
  if (!PolicyDecides(context, view, model)) return standing;
  // Itself among them, and CPU-only jobs.
  const std::size_t waiting =
      snapshot.waiting().size() - std::min(snapshot.waiting().size(), context.ledger.planned());
  const auto idle = static_cast<std::size_t>(context.ledger.idle_gpus());
  const bool some_wait = waiting > idle;
  const bool stream = std::isinf(DrainTail(snapshot));  // more will come: there is no common end
  if (!some_wait && (idle > 1 || !stream)) return standing;
  const double left = LeftOn(context, view, model);
  Worths worths;
  const core::Demand& demand = view.estimate.On(model).demand;
  for (std::size_t s = 0; s < kSmShares.size(); ++s) {
    worths[s].alone = interference::SpeedAlone(demand, kSmShares[s],
                                               context.options.interference->coefficients());
    worths[s].together = worths[s].alone;
  }
  const auto gpus = static_cast<double>(snapshot.cluster().gpu_count());
  if (some_wait) {
    const auto partners = Partners(context, view, model, snapshot.waiting());
    if (partners.empty()) return standing;
    // While more are expected there is always one; else until all is done.
    const double others = std::max(0.0, snapshot.backlog().all - ExpectedRemaining(snapshot, view));
    const double part = stream ? 1 : std::min(1.0, others / (gpus * left));
    const double lasting =
        stream ? std::numeric_limits<double>::infinity() : snapshot.backlog().all / gpus;
    return BestOf(WithWhoWaits(context, view, model, partners, worths), part, left, lasting);
  }
  const auto partners = Partners(context, view, model, snapshot.running());
  if (partners.empty()) return standing;
  double lasts = 0;
  for (const JobId id : partners) {
    lasts += snapshot.job(id).estimate.duration.value_or(core::Seconds(600)).value /
             static_cast<double>(partners.size());
  }
  const double here = ArrivalRate(snapshot) / gpus;  // a second
  const double part = std::min(1.0, here * lasts) * std::max(0.0, 1 - 1 / (here * left));
  if (part <= 0) return standing;
  return BestOf(WithWhoRuns(context, view, model, partners, worths), part, left,
                std::numeric_limits<double>::infinity());
}

}  // namespace sharewell::policy
