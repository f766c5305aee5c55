// What `sharewell simulate` was asked for: the flags as typed, the request they come to, and the
// scenario that its files make.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "catalogue/workload_mix.h"
#include "cli/args/values.h"
#include "core/cluster.h"
#include "core/job/profile.h"
#include "core/projects.h"
#include "core/result.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"
#include "trace/trace_job.h"

namespace sharewell::cli {

// As typed; checked by Parse, so that every message is ours.
struct SimulateFlags {
  std::string trace, cluster;
  std::vector<std::string> policies;
  std::optional<std::string> format, profiles, interference, gpu_catalogue, until, out, projects;
  std::string mix = "catalogue";
  std::string belief = "noisy:0.154";
  std::string durations = "noisy:0.3";
  std::string max_slowdown = "1.25";
  std::string patience = PatienceText();
  std::string guard = "on";
  std::optional<std::string> known;
  std::string unknown = "guest";
  std::string restart_cost = "30";
  std::string work_scale = "1";
  std::string seed = "1";
  std::string seeds = "1";
  bool pause = false;
  bool json = false;
  bool score_starts = false;
  std::string trained;
};
inline constexpr const char* kDefaultPolicies = "slot,pack,sharewell";

struct SimulateRequest {
  std::vector<std::string> policies;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;  // `seed` and those after it
  double work_scale = 1;
  bool predicted = false;  // belief as our own predictor tells it
  simulation::SimulateOptions options;
};

// Checks every value. A usage error names the flag, shows the value and says what is allowed.
// `optima`: what --policy may name beside policies; each is solved for one seed.
core::Result<SimulateRequest> Parse(const SimulateFlags& flags,
                                    std::span<const std::string_view> optima = {});

// The request of another seed: all that is drawn is drawn by it.
SimulateRequest WithSeed(SimulateRequest request, std::uint64_t seed);

// What the files say. Errors name the file, line and column.
struct SimulateInputs {
  catalogue::GpuCatalogue catalogue;
  core::Cluster cluster;
  trace::Trace trace;
  core::Measurements measurements;
  catalogue::WorkloadMix mix;
  core::Projects projects = {};
};
core::Result<SimulateInputs> ReadInputs(const SimulateFlags& flags);

// The world of the request's seed.
core::Result<simulation::Scenario> ScenarioOf(const SimulateInputs& inputs,
                                              const SimulateFlags& flags,
                                              const SimulateRequest& request);
// Both in one.
core::Result<simulation::Scenario> ReadScenario(const SimulateFlags& flags,
                                                const SimulateRequest& request);

}  // namespace sharewell::cli
