#include "simulation/simulate.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <utility>

#include "advice/prediction.h"
#include "control/loop/event_readings.h"
#include "control/loop/guard.h"
#include "control/loop/loop.h"
#include "core/result.h"
#include "engine/simulated/simulated_engine.h"
#include "engine/simulated/simulated_steps.h"
#include "policy/registry.h"
#include "simulation/predicted_belief.h"
#include "simulation/simulated_estimator.h"
#include "simulation/starts/score_starts.h"

namespace sharewell::simulation {
namespace {

class Log : public control::Recorder {
 public:
  explicit Log(bool keep) : keep_(keep) {}

  void OnDecision(core::Seconds took) override { took_.push_back(took.value); }

  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override {
    for (const auto& x : plan.stops) {
      reclaims_ += std::holds_alternative<core::reason::Reclaimed>(x.reason) ? 1 : 0;
    }
    if (!keep_) return {};
    const core::Seconds now = snapshot.now();
    for (const auto& x : plan.stops) rows_.push_back({now, x.job, "stop", {}, x.reason});
    for (const auto& x : plan.moves) rows_.push_back({now, x.job, "move", x.to, x.reason});
    for (const auto& x : plan.resizes)
      rows_.push_back({now, x.job, "resize", {{}, {}, x.cores}, x.reason});
    for (const auto& x : plan.throttles) rows_.push_back({now, x.job, "throttle", {}, x.reason});
    for (const auto& x : plan.starts) rows_.push_back({now, x.job, "start", x.to, x.reason});
    for (const auto& x : plan.waits) rows_.push_back({now, x.job, "wait", {}, x.reason});
    for (core::JobId id : plan.infeasible) {
      rows_.push_back({now, id, "infeasible", {}, core::reason::Infeasible{}});
    }
    return {};
  }

  const std::vector<double>& took() const { return took_; }
  std::vector<DecisionRow> TakeRows() { return std::move(rows_); }
  std::uint64_t reclaims() const { return reclaims_; }

 private:
  bool keep_;
  std::vector<double> took_;
  std::vector<DecisionRow> rows_;
  std::uint64_t reclaims_ = 0;
};

// Beside the run's own belief: how good starts are where durations are known, and where they are
// not. Each is a run of its own, because policies decide by durations.
core::Result<void> ScoreOthers(const Scenario& scenario, const std::string& policy,
                               const SimulateOptions& options,
                               const std::function<void(std::size_t, std::size_t)>& progress,
                               Simulation& to) {
  StartsScores& starts = *to.summary.starts;
  const auto score = [&](std::optional<double> durations, StartsScore& out) -> core::Result<void> {
    if (durations == options.belief.durations) {
      out = starts.believed;
      return {};
    }
    SimulateOptions other = options;
    other.belief.durations = durations;
    other.keep_decisions = false;
    const auto run = Simulate(scenario, policy, other, progress);
    if (!run) return tl::unexpected(core::Error(run.error()).Within(policy));
    out = run->summary.starts->believed;
    return {};
  };
  RETURN_IF_ERROR(score(0.0, starts.known));
  return score(std::nullopt, starts.unknown);
}

}  // namespace

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

core::Result<Simulation> Simulate(const Scenario& scenario, const std::string& policy_name,
                                  const SimulateOptions& options,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  const double begin = CpuSeconds();
  policy::Options policy_options = options.policy;
  // What the policy believes of co-locations. The guard's measurements of this run are added to it,
  // never to what the world runs on.
  interference::Interference believed = scenario.interference;
  policy_options.interference = &believed;
  policy_options.project_shares = core::SharesOf(scenario.projects);
  policy_options.projects_reclaim = core::Reclaim(scenario.projects);
  auto policy = policy::NewPolicy(policy_name, policy_options);
  RETURN_IF_ERROR(policy);

  SimulatedEstimator estimator(scenario, options);
  std::vector<core::Job> alone;  // the same jobs, where strangers are to be alone
  if (options.unknown_alone) {
    alone = scenario.jobs;
    for (core::Job& job : alone) job.alone_until_known = true;
  }
  sim::WorldOptions world_options{.seed = options.belief.seed,
                                  .restart_cost = options.restart_cost};
  if (options.known) {
    world_options.tells = [&](core::JobId id) { return !estimator.Knows(id); };
  }
  sim::World world(scenario.cluster, options.unknown_alone ? alone : scenario.jobs, scenario.truth,
                   scenario.interference, world_options);
  engine::SimulatedEngine engine(world);
  core::Snapshot snapshot(scenario.cluster, options.restart_cost);
  Log log(options.keep_decisions);
  control::Loop loop(snapshot, **policy, engine, estimator, log);

  control::Guard guard;
  const engine::SimulatedSteps steps(world, options.belief.seed);
  control::EventReadings readings(
      guard, steps,
      {.max_slowdown = options.policy.max_slowdown,
       .share_speed = [](const core::Demand& demand,
                         core::Ratio share) -> std::optional<core::Ratio> {
         if (!demand.known) return std::nullopt;
         return interference::SpeedAlone(demand, share);
       },
       .learn =
           [&](const core::Snapshot& at, const control::MeasuredPair& pair) {
             const core::JobView &a = at.job(pair.a), &b = at.job(pair.b);
             if (!a.job.workload.valid() || !b.job.workload.valid()) return;
             const auto model = scenario.cluster.ModelOf(a.allocation.gpus.front());
             believed.Learn(model, a.job.workload, b.job.workload, pair.speed_a,
                            pair.speed_b.value_or(1), pair.sm_share_a, pair.sm_share_b);
           }});
  if (options.guard) loop.Watch(guard, readings);

  StartScorer scorer(scenario.jobs.size(), options.belief.seed,
                     options.belief.durations.value_or(0));
  for (std::size_t turn = 0;; ++turn) {
    if (options.until && world.NextEvent().value_or(*options.until) >= *options.until) break;
    auto more = loop.Turn();
    RETURN_IF_ERROR(more);
    if (!*more) break;
    if (options.score_starts) {
      RETURN_IF_ERROR(scorer.Look(snapshot, **policy, believed));
    }
    if (progress && turn % 1024 == 0) {
      const std::size_t live = snapshot.waiting().size() + snapshot.running().size();
      progress(snapshot.job_count() - live, scenario.jobs.size());
    }
  }
  if (options.until && world.NextEvent()) {
    // Nothing happens between the last event and the end, but time goes on for who runs.
    sim::Events none;
    world.AdvanceTo(std::max(world.now(), std::min(*options.until, *world.NextEvent())), none);
  }
  world.Close();
  Simulation out;
  const double cpu = CpuSeconds() - begin + options.cpu_seconds_before;
  out.summary = Summarise(scenario, world, policy_name, log.took(), cpu);
  if (options.guard) CountEvictions(scenario, world, out.summary);
  if (policy_options.projects_reclaim) out.summary.reclaims = log.reclaims();
  if (options.score_starts) out.summary.starts = {scorer.Score(world.outcomes()), {}, {}};
  out.outcomes = world.outcomes();
  out.decisions = log.TakeRows();
  return out;
}

core::Result<Comparison> ComparePolicies(const Scenario& scenario,
                                         const std::vector<std::string>& policies,
                                         CompareOptions options) {
  if (options.predicted) {
    const auto predictor = advice::PredictorOrBuiltin(options.trained);
    RETURN_IF_ERROR(predictor);
    options.simulate.belief.predicted = PredictedBelief(scenario, *predictor);
  }
  options.simulate.cpu_seconds_before = CpuSeconds();
  Comparison out;
  for (const std::string& policy : policies) {
    const auto progress = [&](std::size_t done, std::size_t of) {
      if (options.progress) options.progress(policy, done, of);
    };
    progress(0, scenario.jobs.size());
    auto simulation = Simulate(scenario, policy, options.simulate, progress);
    if (!simulation) return tl::unexpected(std::move(simulation.error()).Within(policy));
    if (options.done) options.done(policy, *simulation);
    if (options.simulate.score_starts) {
      RETURN_IF_ERROR(ScoreOthers(scenario, policy, options.simulate, progress, *simulation));
    }
    out.results.push_back(std::move(simulation->summary));
  }
  return out;
}

}  // namespace sharewell::simulation
