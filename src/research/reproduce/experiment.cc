#include "research/reproduce/experiment.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "catalogue/cluster_file.h"
#include "catalogue/gpu_catalogue.h"
#include "core/numbers/random.h"

namespace sharewell::research::reproduce {

core::Result<core::Cluster> ClusterOf(const std::string& cluster) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  if (cluster.find('[') == std::string::npos) return catalogue::ReadCluster(cluster, catalogue);
  return catalogue::ReadClusterText(cluster, "the experiment's cluster", catalogue);
}

core::Result<simulation::Scenario> World(std::vector<trace::TraceJob> jobs, core::Cluster cluster,
                                         const core::Measurements& measurements,
                                         const std::string& name, std::uint64_t seed) {
  const trace::Trace trace{"reproduce", std::move(jobs), {}};
  return simulation::BuildScenario(trace, name, std::move(cluster), measurements,
                                   catalogue::GpuCatalogue::Builtin(),
                                   simulation::ScenarioOptions{1, seed});
}

simulation::SimulateOptions ExactOptions() {
  simulation::SimulateOptions options;
  options.belief.figures = 0;
  options.belief.durations = 0;
  options.restart_cost = core::Seconds(0);
  return options;
}

core::Result<simulation::Simulation> RunAll(const simulation::Scenario& scenario,
                                            const std::string& policy,
                                            const simulation::SimulateOptions& options) {
  auto run = simulation::Simulate(scenario, policy, options);
  if (!run) return run;
  const simulation::Summary& s = run->summary;
  if (s.finished != s.jobs) {
    return core::FailedError("policy '{}' finished {} of {} jobs ({} failed, {} infeasible)",
                             policy, s.finished, s.jobs, s.failed, s.infeasible);
  }
  return run;
}

const core::Profile* Measured(const core::Measurements& all, const core::Workload& workload) {
  for (const core::Profile& profile : all.profiles) {
    if (profile.workload == workload && profile.steps_per_second) return &profile;
  }
  return nullptr;
}

void Figures::Add(const std::string& name, double value) { values_[name].push_back(value); }

double Figures::Sum(const std::string& name) const {
  const auto& row = values_.at(name);
  return std::accumulate(row.begin(), row.end(), 0.0);
}

double Figures::Mean(const std::string& name) const {
  return Sum(name) / static_cast<double>(values_.at(name).size());
}

std::string ClockTime(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

core::Seconds DrawnDuration(std::uint64_t seed, std::uint64_t job) {
  constexpr double kShortest = 120;
  constexpr double kLongest = 7200;
  constexpr std::uint64_t kDuration = 0x6475726174696f6eULL;
  const double u = core::Uniform(core::HashOf({seed, job, kDuration}));
  return core::Seconds(kShortest * std::pow(kLongest / kShortest, u));
}

}  // namespace sharewell::research::reproduce
