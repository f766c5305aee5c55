// What the experiments have in common: building a world from a trace made in memory, running
// policies over it and writing rows. Private to research/reproduce.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/profile.h"
#include "core/result.h"
#include "research/reproduce/reproduce.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"
#include "trace/trace_job.h"

namespace sharewell::research::reproduce {

// The machine of data/h200: what shares of its host and GPU are of.
inline constexpr double kH200HostCores = 16;
inline constexpr double kH200HostBytes = 126 * 1024.0 * 1024 * 1024;
inline constexpr double kH200GpuBytes = 143'771 * 1024.0 * 1024;

// `cluster` as on the command line ("12x1xH200") or as the text of a cluster file.
core::Result<core::Cluster> ClusterOf(const std::string& cluster);

// `seed` draws workloads for jobs that name none.
core::Result<simulation::Scenario> World(std::vector<trace::TraceJob> jobs, core::Cluster cluster,
                                         const core::Measurements& measurements,
                                         const std::string& name, std::uint64_t seed = 1);

// Exact belief and durations, no restart cost: what a paper's estimate assumes.
simulation::SimulateOptions ExactOptions();

// Simulate, and an error where a job did not finish: no figure may rest on half a run.
core::Result<simulation::Simulation> RunAll(const simulation::Scenario& scenario,
                                            const std::string& policy,
                                            const simulation::SimulateOptions& options);

// The profile of that workload with a rate; null: there is none.
const core::Profile* Measured(const core::Measurements& all, const core::Workload& workload);

// Named figures collected over several seeds, and their means.
class Figures {
 public:
  void Add(const std::string& name, double value);
  // REQUIRES: something was added under that name.
  double Mean(const std::string& name) const;
  double Sum(const std::string& name) const;

 private:
  std::map<std::string, std::vector<double>> values_;
};

// "39:40:33"
std::string ClockTime(double seconds);

// 2 minutes to 2 hours, log-uniform: Yeung et al.'s range, drawn by seed and job.
core::Seconds DrawnDuration(std::uint64_t seed, std::uint64_t job);

}  // namespace sharewell::research::reproduce
