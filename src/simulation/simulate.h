// Simulate: one policy over one scenario, from the first submission to the last finish.
// ComparePolicies: several of them over the same one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "policy/options.h"
#include "sim/belief.h"
#include "simulation/scenario.h"
#include "simulation/summary.h"

namespace sharewell::simulation {

struct SimulateOptions {
  sim::BeliefOptions belief;
  core::Seconds restart_cost{30};
  // The part of the jobs that is known at submission; the rest is at its second step. Absent: all.
  std::optional<double> known = {};
  bool unknown_alone = false;          // until it is known a job has its GPU for itself
  std::optional<core::Seconds> until;  // stop there, whatever is left
  policy::Options policy;              // .interference is set by Simulate
  bool keep_decisions = false;
  // The guard looks at bounds and evicts, as on a server. False: the papers' systems had none.
  bool guard = false;
  // Tell every job that waits when it should start, and score that in the summary.
  bool score_starts = false;
  double cpu_seconds_before = 0;  // spent on reading, counted into jobs per CPU second
};

// One line of the decision log.
struct DecisionRow {
  core::Seconds time;
  core::JobId job;
  const char* what;  // "start", "move", "stop", "resize", "throttle", "wait", "infeasible"
  core::Allocation where;
  core::Reason reason;
};

struct Simulation {
  Summary summary;
  std::vector<sim::JobOutcome> outcomes;  // by job
  std::vector<DecisionRow> decisions;     // when kept
};

// `progress` is told now and then how many jobs of how many have ended.
core::Result<Simulation> Simulate(
    const Scenario& scenario, const std::string& policy, const SimulateOptions& options,
    const std::function<void(std::size_t, std::size_t)>& progress = {});

struct Comparison {
  std::vector<Summary> results;    // in the order of the policies
  std::vector<std::string> notes;  // what could not be compared, and why
};

struct CompareOptions {
  SimulateOptions simulate;
  bool predicted = false;  // belief as our own predictor tells it, instead of simulate.belief
  std::function<void(const std::string& policy, std::size_t done, std::size_t of)> progress = {};
  // Each simulation as it ends.
  std::function<void(const std::string& policy, const Simulation& simulation)> done = {};
  std::string trained = {};  // with `predicted`: a model file; empty: the built-in one
};

// An error names the policy.
core::Result<Comparison> ComparePolicies(const Scenario& scenario,
                                         const std::vector<std::string>& policies,
                                         CompareOptions options);

// User and system time of this process so far.
double CpuSeconds();

}  // namespace sharewell::simulation
