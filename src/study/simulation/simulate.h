// Simulate: one policy over one scenario, from the first submission to the last finish.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "policy/options.h"
#include "sim/belief.h"
#include "study/simulation/scenario.h"
#include "study/simulation/summary.h"

namespace sharewell::study {

struct SimulateOptions {
  sim::BeliefOptions belief;
  core::Seconds restart_cost{30};
  std::optional<core::Seconds> until;  // stop there, whatever is left
  policy::Options policy;              // .interference is set by Simulate
  bool keep_decisions = false;
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

// User and system time of this process so far.
double CpuSeconds();

}  // namespace sharewell::study
