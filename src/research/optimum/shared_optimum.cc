#include "research/optimum/shared_optimum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/result.h"
#include "research/optimum/optimal.h"
#include "research/optimum/schedule.h"
#include "research/optimum/turns.h"
#include "sim/world.h"
#include "simulation/simulate.h"

namespace sharewell::research {
namespace {

using core::GpuId;
using core::JobId;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoSooner = 1e-6;  // relative: what the linear programs are exact to
// Of one set of jobs, so that none uses up what the others need; and what every set may have, so
// that some schedule is always found.
constexpr std::uint64_t kMostSteps = 20'000;
constexpr std::uint64_t kFewestSteps = 1'000;
constexpr std::uint64_t kStepsOfAssign = 2'000;  // what choosing an assignment counts as

// What is known of each set of jobs on one GPU model: a lower bound on its seconds, then the linear
// program's answer, then the best schedule's.
class Model {
 public:
  Model(const simulation::Scenario& scenario, core::GpuModelId model,
        const ConfigurationOptions& options)
      : configurations_(scenario, model, options),
        values_(std::size_t{1} << scenario.jobs.size(), 0) {}

  // The worth of work by all jobs together bounds each set of them: its configurations are fewer.
  core::Result<void> Bound() {
    JobSet runnable = 0;
    for (std::size_t j = 0; j < configurations_.jobs(); ++j) {
      if (configurations_.AloneSeconds(j) < kInfinite) runnable |= JobSet{1} << j;
    }
    const auto all = TakeTurns(configurations_, runnable);
    RETURN_IF_ERROR(all);
    for (JobSet jobs = 0; jobs < values_.size(); ++jobs) {
      if ((jobs & ~runnable) != 0) {
        values_[jobs] = kInfinite;
        continue;
      }
      double worth = 0, longest = 0;
      for (std::size_t j = 0; j < configurations_.jobs(); ++j) {
        if ((jobs >> j & 1) == 0) continue;
        const double alone = configurations_.AloneSeconds(j);
        worth += alone * all->worth[j];
        longest = std::max(longest, alone);  // nobody is faster than alone
      }
      values_[jobs] = std::max(worth, longest);
    }
    return {};
  }

  double Value(JobSet jobs) const { return values_[jobs]; }
  bool Solved(JobSet jobs) const { return jobs == 0 || turns_.contains(jobs); }

  core::Result<void> Solve(JobSet jobs) {
    auto turns = TakeTurns(configurations_, jobs);
    RETURN_IF_ERROR(turns);
    values_[jobs] = std::max(values_[jobs], turns->seconds);
    turns_.emplace(jobs, std::move(*turns));
    return {};
  }

  bool Scheduled(JobSet jobs) const { return jobs == 0 || schedules_.contains(jobs); }
  // False: not all was tried. REQUIRES Solved(jobs).
  bool FindSchedule(JobSet jobs, double enough, double cutoff, std::uint64_t& steps) {
    const std::uint64_t given = std::max(std::min(steps, kMostSteps), kFewestSteps);
    std::uint64_t left = given;
    auto found = BestSchedule(configurations_, jobs, turns_.at(jobs), enough, cutoff, left);
    steps -= std::min(steps, given - left);
    values_[jobs] = std::max(values_[jobs], found ? found->seconds : cutoff);
    schedules_[jobs] = std::move(found);
    return left > 0;
  }
  const std::optional<Schedule>& ScheduleOf(JobSet jobs) const { return schedules_.at(jobs); }

 private:
  Configurations configurations_;
  std::vector<double> values_;  // by JobSet
  std::map<JobSet, Turns> turns_;
  std::map<JobSet, std::optional<Schedule>> schedules_;  // absent: none before the cutoff
};

struct Assignment {
  std::vector<JobSet> on;  // by GPU
  double seconds = kInfinite;
};

class Solver {
 public:
  Solver(const simulation::Scenario& scenario, const SharedOptimumOptions& options)
      : cluster_(scenario.cluster),
        all_(static_cast<JobSet>((std::uint64_t{1} << scenario.jobs.size()) - 1)),
        steps_(options.steps) {
    for (std::size_t m = 0; m < cluster_.models().size(); ++m) {
      const core::GpuModelId model(m);
      if (cluster_.CountOf(model) > 0) {
        models_.emplace(m, Model(scenario, model, options.configurations));
      }
    }
  }

  core::Result<Assignment> WithTurns() {
    for (auto& [m, model] : models_) {
      RETURN_IF_ERROR(model.Bound());
    }
    while (true) {
      Assignment best = Assign();
      bool solved = true;
      double reached = 0;
      for (std::size_t g = 0; g < best.on.size(); ++g) {
        if (!On(g).Solved(best.on[g])) {
          RETURN_IF_ERROR(On(g).Solve(best.on[g]));
          solved = false;
        }
        reached = std::max(reached, On(g).Value(best.on[g]));
      }
      // All of its values are exact, and those of all others are at least bounds.
      if (solved) return best;
      // Choosing takes longer than a linear program: solve all that a better choice may be made of.
      for (auto& [m, model] : models_) {
        for (JobSet jobs = 1; jobs <= all_; ++jobs) {
          if (model.Value(jobs) >= reached || model.Solved(jobs)) continue;
          RETURN_IF_ERROR(model.Solve(jobs));
        }
      }
    }
  }

  // Goes on from `turns`. Each round looks for schedules of the assignment that may still be the
  // best; it ends when none may. No GPU need be done before the end of all, which is not before
  // that of `turns`.
  core::Result<Assignment> WithoutPauses(Assignment turns) {
    const double enough = turns.seconds;
    Assignment best;
    Assignment next = std::move(turns);
    while (next.seconds < best.seconds * (1 - kNoSooner)) {
      double seconds = 0;
      for (std::size_t g = 0; g < next.on.size(); ++g) {
        const JobSet jobs = next.on[g];
        if (!On(g).Solved(jobs)) {
          RETURN_IF_ERROR(On(g).Solve(jobs));
        }
        if (!On(g).Scheduled(jobs) && !On(g).FindSchedule(jobs, enough, best.seconds, steps_)) {
          all_tried_ = false;
        }
        const bool known = jobs == 0 || On(g).ScheduleOf(jobs).has_value();
        seconds = std::max(seconds, known ? On(g).Value(jobs) : kInfinite);
      }
      if (seconds < best.seconds) best = {next.on, seconds};
      if (steps_ == 0) {
        all_tried_ = false;
        break;
      }
      next = Assign();
      steps_ -= std::min(steps_, kStepsOfAssign);
    }
    return best;
  }

  bool AllTried() const { return all_tried_; }

  std::vector<std::vector<ScheduledStart>> StartsOf(const Assignment& assignment) {
    std::vector<std::vector<ScheduledStart>> out(assignment.on.size());
    for (std::size_t g = 0; g < out.size(); ++g) {
      if (assignment.on[g] != 0) out[g] = On(g).ScheduleOf(assignment.on[g])->starts;
    }
    return out;
  }

 private:
  Model& On(std::size_t gpu) { return models_.at(cluster_.ModelOf(GpuId(gpu)).index()); }

  // The assignment whose longest GPU is shortest, by what is known of each set: exact, by going
  // through the sets that the first GPUs can be left with.
  Assignment Assign() {
    const std::size_t gpus = cluster_.gpu_count();
    std::vector<std::vector<double>> best(gpus);
    std::vector<std::vector<JobSet>> own(gpus);
    for (std::size_t g = 0; g < gpus; ++g) {
      const Model& model = On(g);
      best[g].assign(std::size_t{all_} + 1, kInfinite);
      own[g].assign(std::size_t{all_} + 1, 0);
      for (JobSet jobs = g + 1 == gpus ? all_ : 0;; ++jobs) {
        if (g == 0) {
          best[0][jobs] = model.Value(jobs);
          own[0][jobs] = jobs;
        } else {
          for (JobSet part = jobs;; part = (part - 1) & jobs) {
            const double seconds = std::max(model.Value(part), best[g - 1][jobs & ~part]);
            if (seconds < best[g][jobs]) {
              best[g][jobs] = seconds;
              own[g][jobs] = part;
            }
            if (part == 0) break;
          }
        }
        if (jobs == all_) break;
      }
    }
    Assignment out{std::vector<JobSet>(gpus, 0), best[gpus - 1][all_]};
    JobSet left = all_;
    for (std::size_t g = gpus; g-- > 0;) {
      out.on[g] = own[g][left];
      left &= ~out.on[g];
    }
    return out;
  }

  const core::Cluster& cluster_;
  JobSet all_;
  std::uint64_t steps_;
  bool all_tried_ = true;
  std::map<std::size_t, Model> models_;
};

simulation::Summary Replay(const simulation::Scenario& scenario, std::uint64_t seed,
                           std::vector<std::vector<ScheduledStart>> starts) {
  simulation::Scenario free = scenario;
  free.cluster = WithoutHostLimits(scenario.cluster);
  for (sim::TrueJob& job : free.truth) job.startup = core::Seconds(0);
  const double begin = simulation::CpuSeconds();
  sim::World world(free.cluster, free.jobs, free.truth, free.interference,
                   {seed, core::Seconds(0)});
  JobSet ended = 0;
  const auto start = [&] {
    for (std::size_t g = 0; g < starts.size(); ++g) {
      std::erase_if(starts[g], [&](const ScheduledStart& one) {
        if ((one.after & ~ended) != 0) return false;
        core::Allocation to{{GpuId(g)}, {}, 0};
        to.sm_share = one.sm_share;
        world.Start(JobId(one.job), to, std::nullopt);
        return true;
      });
    }
  };
  sim::Events events;
  bool begun = false;
  while (const auto next = world.NextEvent()) {
    events.Clear();
    world.AdvanceTo(*next, events);
    begun = begun || !events.submitted.empty();
    for (const JobId id : events.finished) ended |= JobSet{1} << id.index();
    if (begun) start();
    world.Settle(events);
  }
  simulation::Summary summary = simulation::Summarise(free, world, std::string(kOptimalShared), {},
                                                      simulation::CpuSeconds() - begin);
  summary.jobs_per_cpu_second.reset();
  return summary;
}

}  // namespace

core::Result<SharedOptimum> SolveSharedOptimum(const simulation::Scenario& scenario,
                                               const SharedOptimumOptions& options) {
  RETURN_IF_ERROR(CheckSolvable(scenario, kOptimalShared,
                                std::min<std::size_t>(options.max_jobs, 16), options.max_gpus));
  Solver solver(scenario, options);
  const auto turns = solver.WithTurns();
  RETURN_IF_ERROR(turns);
  SharedOptimum out;
  out.bound = turns->seconds;
  out.gpu_of.resize(scenario.jobs.size());
  for (std::size_t g = 0; g < turns->on.size(); ++g) {
    for (std::size_t j = 0; j < out.gpu_of.size(); ++j) {
      if ((turns->on[g] >> j & 1) != 0) out.gpu_of[j] = GpuId(g);
    }
  }
  const auto schedule = solver.WithoutPauses(*turns);
  RETURN_IF_ERROR(schedule);
  out.schedule_proven = solver.AllTried();
  out.summary = Replay(scenario, options.configurations.seed, solver.StartsOf(*schedule));
  SetDistance(out, out.summary);
  return out;
}

void SetDistance(const SharedOptimum& optimum, simulation::Summary& summary) {
  if (!summary.makespan || optimum.bound <= 0) return;
  summary.distance_from_shared_optimum = *summary.makespan / optimum.bound - 1;
}

}  // namespace sharewell::research
