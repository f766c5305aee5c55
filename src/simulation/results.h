// What `simulate --out DIR` wrote, read back: summary.json, jobs-POLICY.csv and
// decisions-POLICY.csv. Plain data and pure readers; the caller reads the files. Unknown is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "json/value.h"
#include "simulation/summary.h"

namespace sharewell::simulation {

struct SimulatedJob {
  std::string id, user, workload;
  std::int64_t gpus = 0;
  double submit = 0;  // seconds, as all times here
  std::optional<double> start, finish;
  std::string end;  // "finished", "failed", "infeasible", "unfinished"
  std::optional<double> run, queue, jct, slowdown;
  std::string gpu_model;
};

struct SimulatedDecision {
  double time = 0;
  std::string job, what;          // "start", "move", "stop" ...
  std::vector<std::string> gpus;  // "node:gpu"
  std::string reason;
};

struct PolicyResult {
  Summary summary;
  std::vector<SimulatedJob> jobs;            // empty: their file was not there
  std::vector<SimulatedDecision> decisions;  // rising in time; the same
};

struct SimulationResults {
  std::string trace, cluster, belief, durations;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> notes;
  std::vector<PolicyResult> policies;  // in the order given to simulate; at least one
};

// A list of what WriteGroups wrote; `name` is the key of their names. What is no list is empty.
std::vector<GroupTimes> ReadGroupTimes(json::Value list, std::string_view name);

// `name` stands in messages. The policies have a summary alone.
core::Result<SimulationResults> ReadSimulationSummary(std::string_view json,
                                                      const std::string& name);
core::Result<std::vector<SimulatedJob>> ReadSimulatedJobs(std::string_view csv,
                                                          const std::string& name);
core::Result<std::vector<SimulatedDecision>> ReadSimulatedDecisions(std::string_view csv,
                                                                    const std::string& name);

}  // namespace sharewell::simulation
