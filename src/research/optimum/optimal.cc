#include "research/optimum/optimal.h"

#include <CbcModel.hpp>
#include <CoinMessageHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <CoinPackedVector.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/result.h"
#include "sim/world.h"
#include "simulation/simulate.h"

namespace sharewell::research {
namespace {

using core::GpuId;
using core::JobId;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Seconds of each job on each GPU model; infinite where it cannot run.
using Times = std::vector<std::vector<double>>;

Times TimesOf(const simulation::Scenario& scenario) {
  const auto& cluster = scenario.cluster;
  Times times;
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    const sim::TrueJob& truth = scenario.truth[j];
    auto& row = times.emplace_back();
    for (std::size_t m = 0; m < cluster.models().size(); ++m) {
      const core::GpuModelId model(m);
      const auto& allowed = job.allowed_models;
      const bool may =
          (allowed.empty() || std::find(allowed.begin(), allowed.end(), model) != allowed.end()) &&
          truth.on[m].rate > 0 && truth.on[m].demand.gpu_memory <= cluster.model(model).memory &&
          cluster.CountOf(model) > 0;
      row.push_back(may ? truth.work.value / truth.on[m].rate : kNever);
    }
  }
  return times;
}

struct WholeAssignment {
  std::vector<GpuId> gpu_of;
  double makespan = kNever;
};

// Longest first, each where it ends soonest: what the solver has to beat.
WholeAssignment Greedy(const core::Cluster& cluster, const Times& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *std::min_element(times[a].begin(), times[a].end()) >
           *std::min_element(times[b].begin(), times[b].end());
  });
  WholeAssignment out{std::vector<GpuId>(times.size()), 0};
  std::vector<double> load(cluster.gpu_count(), 0);
  for (std::size_t j : order) {
    std::size_t best = 0;
    double soonest = kNever;
    for (std::size_t g = 0; g < load.size(); ++g) {
      const double end = load[g] + times[j][cluster.ModelOf(GpuId(g)).index()];
      if (end < soonest) {
        soonest = end;
        best = g;
      }
    }
    load[best] = soonest;
    out.gpu_of[j] = GpuId(best);
    out.makespan = std::max(out.makespan, soonest);
  }
  return out;
}

// The model: minimise T; every job on exactly one GPU; no GPU's load above T. GPUs of one model are
// alike, so their loads are asked to fall, which spares the search their permutations.
class Program {
 public:
  // `scale` makes the numbers about 1, where the solver's tolerances are meant.
  Program(const core::Cluster& cluster, const Times& times, double scale)
      : cluster_(cluster), times_(times), scale_(scale) {
    solver_.messageHandler()->setLogLevel(0);
    solver_.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    const CoinPackedVector nothing;
    solver_.addCol(nothing, 0, 1, 1);  // T, in scales; Greedy reaches 1
    for (std::size_t j = 0; j < times.size(); ++j) {
      for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
        solver_.addCol(nothing, 0, Time(j, g) == kNever ? 0 : 1, 0);
        solver_.setInteger(Column(j, g));
      }
    }
    for (std::size_t j = 0; j < times.size(); ++j) {
      CoinPackedVector row;
      for (std::size_t g = 0; g < cluster.gpu_count(); ++g) row.insert(Column(j, g), 1);
      solver_.addRow(row, 1, 1);
    }
    for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
      CoinPackedVector row = Load(g, nullptr);
      row.insert(0, -1);
      solver_.addRow(row, -solver_.getInfinity(), 0);
      if (g > 0 && cluster.ModelOf(GpuId(g)) == cluster.ModelOf(GpuId(g - 1))) {
        const std::size_t before = g - 1;
        solver_.addRow(Load(g, &before), -solver_.getInfinity(), 0);
      }
    }
  }

  // Something better than makespan 1, `greedy` where there is none; absent without proof.
  std::optional<WholeAssignment> Solve(core::Seconds limit, const WholeAssignment& greedy) {
    constexpr double kNoBetter = 1e-9;
    CbcModel model(solver_);
    model.setLogLevel(0);
    model.messageHandler()->setLogLevel(0);
    model.solver()->messageHandler()->setLogLevel(0);
    model.setMaximumSeconds(limit.value);
    model.setAllowableGap(0);
    model.setAllowableFractionGap(0);
    model.setCutoff(1 - kNoBetter);
    model.branchAndBound();
    if (model.isProvenInfeasible() && !model.isSecondsLimitReached()) return greedy;
    if (!model.isProvenOptimal()) return std::nullopt;
    const double* x = model.bestSolution();
    if (x == nullptr) return greedy;
    WholeAssignment out{std::vector<GpuId>(times_.size()), 0};
    std::vector<double> load(cluster_.gpu_count(), 0);
    for (std::size_t j = 0; j < times_.size(); ++j) {
      for (std::size_t g = 0; g < load.size(); ++g) {
        if (x[Column(j, g)] < 0.5) continue;
        out.gpu_of[j] = GpuId(g);
        load[g] += times_[j][cluster_.ModelOf(GpuId(g)).index()];
      }
    }
    out.makespan = *std::max_element(load.begin(), load.end());
    return out;
  }

 private:
  int Column(std::size_t job, std::size_t gpu) const {
    return static_cast<int>(1 + job * cluster_.gpu_count() + gpu);
  }
  double Time(std::size_t job, std::size_t gpu) const {
    return times_[job][cluster_.ModelOf(GpuId(gpu)).index()] / scale_;
  }
  // The GPU's load, less that of `other` where there is one.
  CoinPackedVector Load(std::size_t gpu, const std::size_t* other) const {
    CoinPackedVector row;
    for (std::size_t j = 0; j < times_.size(); ++j) {
      if (Time(j, gpu) == kNever) continue;
      row.insert(Column(j, gpu), Time(j, gpu));
      if (other != nullptr) row.insert(Column(j, *other), -Time(j, *other));
    }
    return row;
  }

  const core::Cluster& cluster_;
  const Times& times_;
  double scale_;
  OsiClpSolverInterface solver_;
};

simulation::Summary ReplayAlone(const simulation::Scenario& scenario, const Times& times,
                                const WholeAssignment& assignment) {
  simulation::Scenario free = scenario;
  free.cluster = WithoutHostLimits(scenario.cluster);
  const double begin = simulation::CpuSeconds();
  sim::World world(free.cluster, free.jobs, free.truth, free.interference, {1, core::Seconds(0)});
  std::vector<std::vector<JobId>> line(free.cluster.gpu_count());  // longest first: taken from back
  for (std::size_t j = 0; j < free.jobs.size(); ++j) {
    line[assignment.gpu_of[j].index()].push_back(JobId(j));
  }
  for (std::size_t g = 0; g < line.size(); ++g) {
    const std::size_t model = free.cluster.ModelOf(GpuId(g)).index();
    std::sort(line[g].begin(), line[g].end(), [&](JobId a, JobId b) {
      return std::pair(-times[a.index()][model], b) < std::pair(-times[b.index()][model], a);
    });
  }
  const auto start_next = [&](std::size_t g) {
    if (line[g].empty()) return;
    world.Start(line[g].back(), {{GpuId(g)}, {}, 0}, std::nullopt);
    line[g].pop_back();
  };
  sim::Events events;
  bool begun = false;
  while (const auto next = world.NextEvent()) {
    events.Clear();
    world.AdvanceTo(*next, events);
    if (!begun && !events.submitted.empty()) {
      begun = true;
      for (std::size_t g = 0; g < line.size(); ++g) start_next(g);
    }
    for (JobId id : events.finished) start_next(assignment.gpu_of[id.index()].index());
    world.Settle(events);
  }
  simulation::Summary summary = simulation::Summarise(free, world, std::string(kOptimal), {},
                                                      simulation::CpuSeconds() - begin);
  summary.jobs_per_cpu_second.reset();
  summary.distance_from_optimal = 0;
  return summary;
}

}  // namespace

core::Cluster WithoutHostLimits(const core::Cluster& cluster) {
  auto nodes = cluster.nodes();
  for (auto& node : nodes) {
    node.cores.reset();
    node.memory.reset();
    node.memory_bandwidth.reset();
    node.pcie.reset();
  }
  return core::Cluster(cluster.models(), std::move(nodes));
}

core::Result<void> CheckSolvable(const simulation::Scenario& scenario, std::string_view policy,
                                 std::size_t max_jobs, std::size_t max_gpus) {
  const auto& cluster = scenario.cluster;
  if (scenario.jobs.empty()) return core::UsageError("{}: there is no job to place", policy);
  if (scenario.jobs.size() > max_jobs || cluster.gpu_count() > max_gpus) {
    return core::UsageError(
        "{0}: {1} jobs on {2} GPUs are too many to solve exactly (at most {3} on {4}); take a part "
        "of the trace, or leave '{0}' out of --policy",
        policy, scenario.jobs.size(), cluster.gpu_count(), max_jobs, max_gpus);
  }
  const Times times = TimesOf(scenario);
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    if (job.gpus != 1) {
      return core::UsageError("{}: job '{}' needs {} GPUs, only jobs of one GPU can be solved",
                              policy, job.name, job.gpus);
    }
    if (job.submit != scenario.jobs.front().submit) {
      return core::UsageError(
          "{}: job '{}' is submitted later than the first; all must be there from the start",
          policy, job.name);
    }
    if (*std::min_element(times[j].begin(), times[j].end()) == kNever) {
      return core::UsageError("{}: job '{}' can run on no GPU of the cluster", policy, job.name);
    }
  }
  return {};
}

core::Result<OptimalResult> SolveOptimal(const simulation::Scenario& scenario,
                                         const OptimalOptions& options) {
  RETURN_IF_ERROR(CheckSolvable(scenario, kOptimal, options.max_jobs, options.max_gpus));
  const Times times = TimesOf(scenario);
  const WholeAssignment greedy = Greedy(scenario.cluster, times);
  Program program(scenario.cluster, times, greedy.makespan);
  const auto best = program.Solve(options.time_limit, greedy);
  if (!best) {
    return core::FailedError(
        "optimal: no proof within {:g} s of CPU time for {} jobs on {} GPUs; take fewer jobs",
        options.time_limit.value, scenario.jobs.size(), scenario.cluster.gpu_count());
  }
  return OptimalResult{ReplayAlone(scenario, times, *best), best->gpu_of};
}

void SetDistance(const OptimalResult& optimum, simulation::Summary& summary) {
  if (!summary.makespan || !optimum.summary.makespan || *optimum.summary.makespan <= 0) return;
  summary.distance_from_optimal = *summary.makespan / *optimum.summary.makespan - 1;
}

}  // namespace sharewell::research
