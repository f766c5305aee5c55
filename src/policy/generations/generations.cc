#include "policy/generations/generations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "core/sm_share.h"
#include "policy/colocation.h"
#include "policy/generations/exchange.h"
#include "policy/ledger.h"
#include "policy/order/drain.h"
#include "policy/order/gain.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::GpuModelId;
using core::JobId;
using core::JobState;
using core::JobView;
using core::Plan;
using core::Seconds;
using core::Snapshot;

namespace reason = core::reason;

constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostJobs = 128;
constexpr Seconds kAgainAfter{1200};
constexpr double kThroughput =
    10;  // an average job gets a preference of a tenth over pure throughput
constexpr double kMostCritical = 0.1;

// The live jobs, in order of id; empty where one of them cannot be handled here.
std::vector<JobId> LiveJobs(const Snapshot& snapshot) {
  std::vector<JobId> live(snapshot.running().begin(), snapshot.running().end());
  live.insert(live.end(), snapshot.waiting().begin(), snapshot.waiting().end());
  if (live.size() > kMostJobs) return {};
  for (JobId id : live) {
    const JobView& view = snapshot.job(id);
    bool runs_somewhere = false;
    for (const auto& on : view.estimate.on) runs_somewhere = runs_somewhere || on.rate > 0;
    if (!runs_somewhere) return {};
    if (!MayShare(view) || !view.estimate.duration || !view.job.allowed_models.empty() ||
        view.job.priority != 0 || view.job.sm_share || !view.job.allowed_nodes.empty() ||
        !view.may_stop()) {
      return {};
    }
  }
  std::sort(live.begin(), live.end());
  return live;
}

// Jobs believed to behave alike are one kind; gives each job's.
std::vector<std::size_t> Kinds(const Snapshot& snapshot, const std::vector<JobId>& live,
                               std::vector<JobId>& example) {
  std::vector<std::size_t> kinds;
  for (JobId id : live) {
    const JobView& view = snapshot.job(id);
    std::size_t k = 0;
    for (; k < example.size(); ++k) {
      const JobView& other = snapshot.job(example[k]);
      if (other.job.workload == view.job.workload &&
          other.job.max_slowdown == view.job.max_slowdown &&
          core::StandingShare(other) == core::StandingShare(view) &&
          other.estimate.contention == view.estimate.contention &&
          other.estimate.gpu_memory_upper == view.estimate.gpu_memory_upper &&
          other.estimate.on == view.estimate.on) {
        break;
      }
    }
    if (k == example.size()) example.push_back(id);
    kinds.push_back(k);
  }
  return kinds;
}

void FillRates(const Snapshot& snapshot, const Options& options, const std::vector<JobId>& example,
               const std::vector<GpuModelId>& models, Market& market) {
  const std::size_t kinds = example.size();
  for (std::size_t m = 0; m < models.size(); ++m) {
    market.gpus.push_back(snapshot.cluster().CountOf(models[m]));
    auto& alone = market.alone.emplace_back(kinds, 0.0);
    auto& beside = market.beside.emplace_back(kinds, std::vector<double>(kinds, 0.0));
    for (std::size_t a = 0; a < kinds; ++a) {
      alone[a] = snapshot.job(example[a]).estimate.On(models[m]).rate;
    }
    for (std::size_t a = 0; a < kinds && options.max_jobs_on_gpu > 1; ++a) {
      for (std::size_t b = a; b < kinds; ++b) {
        const JobId pair[] = {example[a], example[b]};
        const Colocation group(snapshot, *options.interference, models[m], pair);
        if (alone[a] <= 0 || alone[b] <= 0 || !group.Fits()) continue;
        if (!group.KeepsBoundsNow(options.max_slowdown)) continue;
        beside[a][b] = alone[a] * group.Speed(0);
        beside[b][a] = alone[b] * group.Speed(1);
      }
    }
  }
}

std::vector<ExchangeJob> Weigh(const Snapshot& snapshot, const std::vector<JobId>& live,
                               const std::vector<std::size_t>& kinds, const Market& market,
                               const Prices& prices) {
  std::vector<double> size;
  for (std::size_t i = 0; i < live.size(); ++i) {
    size.push_back(ExpectedRemaining(snapshot, snapshot.job(live[i])) * prices.of[kinds[i]]);
  }
  const double mean =
      std::accumulate(size.begin(), size.end(), 0.0) / static_cast<double>(size.size());
  std::map<core::UserId, std::size_t> jobs_of;
  for (JobId id : live) ++jobs_of[snapshot.job(id).job.user];
  // In who goes sooner, the jobs of each user together weigh the same; the end of all is
  // everybody's.
  const auto fair = [&](core::UserId user) {
    return static_cast<double>(live.size()) / static_cast<double>(jobs_of.size() * jobs_of[user]);
  };
  const double nobody_comes = std::exp(-ArrivalRate(snapshot) * prices.drain);
  std::vector<ExchangeJob> jobs;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const JobView& view = snapshot.job(live[i]);
    double fastest = 0;
    for (const auto& alone : market.alone) fastest = std::max(fastest, alone[kinds[i]]);
    const double share = std::min(1.0, ExpectedRemaining(snapshot, view) / fastest / prices.drain);
    const double critical = std::max(1 - std::pow(share, 4), kMostCritical);
    ExchangeJob job;
    job.kind = kinds[i];
    job.weight = prices.of[kinds[i]] * (fair(view.job.user) * std::sqrt(mean / size[i]) +
                                        nobody_comes * kThroughput / critical);
    if (view.state == JobState::kRunning) {
      job.gpu = static_cast<int>(view.allocation.gpus.front().index());
      const Seconds cost = snapshot.restart_cost(view);
      const auto model = snapshot.cluster().ModelOf(view.allocation.gpus.front());
      const double rate = std::max(view.estimate.On(model).rate, 1e-9);
      // A job that ends sooner has less time to earn a restart back: there it must do so at the
      // pace that it would have elsewhere.
      const Seconds left(std::max(ExpectedRemaining(snapshot, view) / rate, 1.0));
      job.stays =
          job.weight * (left < kAgainAfter ? fastest * (cost / left) : rate * (cost / kAgainAfter));
    }
    jobs.push_back(job);
  }
  return jobs;
}

// Why `id` goes to `gpu`; `beside` is not valid: alone there.
core::Reason ReasonOf(const Snapshot& snapshot, const Options& options, JobId id, GpuId gpu,
                      JobId beside) {
  const auto model = snapshot.cluster().ModelOf(gpu);
  if (beside.valid()) {
    const JobId pair[] = {id, beside};
    const Colocation group(snapshot, *options.interference, model, pair);
    return reason::GoodNeighbour{beside, group.Speed(0), group.Speed(1)};
  }
  const JobView& view = snapshot.job(id);
  double fastest = 0;
  for (const auto& on : view.estimate.on) fastest = std::max(fastest, on.rate);
  const bool best = view.estimate.On(model).rate >= fastest;
  const double gain = GainOf(snapshot, view);
  if (best) return reason::BetterModel{gain};
  return reason::LeavesBetterModel{gain};
}

}  // namespace

std::optional<Plan> PlanGenerations(const Snapshot& snapshot, const Options& options,
                                    const Sizing& sizing) {
  const auto& cluster = snapshot.cluster();
  if (cluster.gpu_count() > kMostGpus || snapshot.any_foreign_memory()) return std::nullopt;
  std::vector<GpuModelId> models;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (cluster.CountOf(GpuModelId(m)) > 0) models.push_back(GpuModelId(m));
  }
  if (models.size() < 2) return std::nullopt;
  const std::vector<JobId> live = LiveJobs(snapshot);
  if (live.empty()) return std::nullopt;

  std::vector<JobId> example;
  const std::vector<std::size_t> kinds = Kinds(snapshot, live, example);
  Market market;
  market.work.assign(example.size(), 0.0);
  for (std::size_t i = 0; i < live.size(); ++i) {
    market.work[kinds[i]] += ExpectedRemaining(snapshot, snapshot.job(live[i]));
  }
  FillRates(snapshot, options, example, models, market);
  const Prices prices = FindPrices(market);
  std::vector<ExchangeJob> jobs = Weigh(snapshot, live, kinds, market, prices);
  std::vector<std::size_t> model_of;
  for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
    const auto it = std::find(models.begin(), models.end(), cluster.ModelOf(GpuId(g)));
    model_of.push_back(static_cast<std::size_t>(it - models.begin()));
  }
  // More than two on a GPU were put there by another way of planning: the exchange begins without
  // them.
  std::vector<int> here(cluster.gpu_count(), 0);
  for (ExchangeJob& job : jobs) {
    if (job.gpu != kNobody && ++here[static_cast<std::size_t>(job.gpu)] > 2) job.gpu = kNobody;
  }
  const std::vector<Seats> seats = Exchange(market, jobs, model_of);

  Plan plan;
  std::vector<int> gpu_of(live.size(), kNobody);
  std::vector<double> cores(cluster.nodes().size(), 0.0);
  std::vector<core::Bytes> memory(cluster.nodes().size());
  for (std::size_t g = 0; g < seats.size(); ++g) {
    for (int who : seats[g]) {
      if (who == kNobody) continue;
      const auto i = static_cast<std::size_t>(who);
      gpu_of[i] = static_cast<int>(g);
      const JobView& view = snapshot.job(live[i]);
      const GpuId gpu(g);
      core::Allocation to{{gpu},
                          {},
                          sizing.CoresAGpu(snapshot, view, cluster.ModelOf(gpu), 1),
                          core::StandingShare(view)};
      const bool stays = view.state == JobState::kRunning && view.allocation.gpus.front() == gpu;
      double& used = cores[cluster.NodeOf(gpu).index()];
      used += stays ? view.allocation.cores : to.cores;
      const auto& node = cluster.node(cluster.NodeOf(gpu));
      if (node.cores && used > *node.cores + 1e-9) return std::nullopt;
      core::Bytes& held = memory[cluster.NodeOf(gpu).index()];
      held += core::HostMemoryOn(node, view, 1);
      if (node.memory && held > *node.memory) return std::nullopt;
      if (stays) continue;
      const int other = seats[g][0] == who ? seats[g][1] : seats[g][0];
      const core::Reason reason =
          ReasonOf(snapshot, options, live[i], gpu,
                   other == kNobody ? JobId() : live[static_cast<std::size_t>(other)]);
      if (view.state == JobState::kRunning) {
        plan.moves.push_back({live[i], std::move(to), false, reason});
      } else {
        plan.starts.push_back({live[i], std::move(to), {}, reason});
      }
    }
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    const JobView& view = snapshot.job(live[i]);
    if (gpu_of[i] != kNobody) continue;
    if (view.state == JobState::kRunning) {
      plan.stops.push_back({live[i], reason::Preempted{}});
    } else if (view.since == snapshot.now()) {
      plan.waits.push_back({live[i], reason::NoGoodNeighbour{}});
    }
  }
  plan.wake_at = snapshot.now() + kAgainAfter;
  return plan;
}

}  // namespace sharewell::policy
