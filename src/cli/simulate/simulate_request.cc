#include "cli/simulate/simulate_request.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "catalogue/cluster_file.h"
#include "catalogue/gpu_catalogue.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "catalogue/projects_file.h"
#include "cli/args/values.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"
#include "policy/registry.h"
#include "simulation/summary.h"
#include "trace/reader.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using platform::Quoted;

// A hundred years: no trace is longer.
constexpr int kMostDays = 36525;
// Each is a whole run of every policy.
constexpr std::uint64_t kMostSimulatedSeeds = 1000;

bool Among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Every policy is made once before anything is read, so that a typing error costs no time.
Result<std::vector<std::string>> ParsePolicies(const std::vector<std::string>& given,
                                               const policy::Options& options,
                                               std::span<const std::string_view> optima) {
  std::vector<std::string> policies;
  for (const std::string& list : given) {
    std::string_view rest = list;
    while (true) {
      const auto comma = rest.find(',');
      const std::string name(platform::Trimmed(rest.substr(0, comma)));
      if (name.empty()) {
        return UsageError("--policy: {} has an empty name; give names with commas between them",
                          Quoted(list));
      }
      if (std::find(policies.begin(), policies.end(), name) != policies.end()) {
        return UsageError("--policy: {} is given twice", Quoted(name));
      }
      if (!Among(optima, name) && Among(simulation::kOptima, name)) {
        return UsageError(
            "--policy: {0} is no policy but the least makespan there can be, which another program "
            "solves: sharewell-lab simulate --policy {0}",
            name);
      }
      if (auto made = policy::NewPolicy(name, options); !made && !Among(optima, name)) {
        return tl::unexpected(std::move(made.error()).Within("--policy"));
      }
      policies.push_back(name);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return policies;
}

// Of the built-in pairs, those whose workloads alone are among the profiles: the others have
// nothing to be compared with.
void KeepComparable(core::Measurements& measurements) {
  std::set<core::Workload> known;
  for (const auto& profile : measurements.profiles) known.insert(profile.workload);
  std::erase_if(measurements.pairs, [&known](const core::PairMeasurement& pair) {
    return known.count(pair.a) == 0 || known.count(pair.b) == 0;
  });
}

Result<core::Measurements> ReadMeasurements(const SimulateFlags& flags) {
  core::Measurements measurements = catalogue::BuiltinMeasurements();
  if (flags.profiles) {
    auto profiles = catalogue::ReadProfiles(*flags.profiles);
    RETURN_IF_ERROR(profiles);
    measurements.profiles = std::move(*profiles);
    measurements.stand_ins = measurements.profiles.size();
    KeepComparable(measurements);
  }
  if (flags.interference) {
    auto measured = catalogue::ReadPairs(*flags.interference);
    RETURN_IF_ERROR(measured);
    measurements.profiles.insert(measurements.profiles.end(), measured->profiles.begin(),
                                 measured->profiles.end());
    measurements.pairs = std::move(measured->pairs);
  }
  return measurements;
}

}  // namespace

Result<SimulateRequest> Parse(const SimulateFlags& flags,
                              std::span<const std::string_view> optima) {
  SimulateRequest request;
  simulation::SimulateOptions& options = request.options;
  const auto seed = ParseWhole("--seed", flags.seed, 0, std::numeric_limits<std::uint64_t>::max());
  RETURN_IF_ERROR(seed);
  const auto seeds = ParseWhole("--seeds", flags.seeds, 1, kMostSimulatedSeeds);
  RETURN_IF_ERROR(seeds);
  if (*seed > std::numeric_limits<std::uint64_t>::max() - *seeds) {
    return UsageError("--seed: {} leaves no room for {} seeds; give a smaller one", *seed, *seeds);
  }
  request.predicted = flags.belief == "predicted";
  const auto belief =
      ParseBelief("--belief", request.predicted ? SimulateFlags().belief : flags.belief);
  RETURN_IF_ERROR(belief);
  if (!flags.trained.empty() && !request.predicted) {
    return core::UsageError(
        "--trained says by which model jobs are predicted; give --belief "
        "predicted too");
  }
  const auto durations = ParseDurations("--durations", flags.durations);
  RETURN_IF_ERROR(durations);
  const auto max_slowdown = ParseNumber("--max-slowdown", flags.max_slowdown, 1, 100);
  RETURN_IF_ERROR(max_slowdown);
  const auto patience = ParsePatience("--patience", flags.patience);
  RETURN_IF_ERROR(patience);
  const auto restart_cost = ParseTime("--restart-cost", flags.restart_cost, 1);
  RETURN_IF_ERROR(restart_cost);
  const auto work_scale = ParseNumber("--work-scale", flags.work_scale, 0.001, 1000);
  RETURN_IF_ERROR(work_scale);
  if (flags.until) {
    const auto until = ParseTime("--until", *flags.until, kMostDays);
    RETURN_IF_ERROR(until);
    options.until = *until;
  }
  request.seed = *seed;
  request.seeds = *seeds;
  request.work_scale = *work_scale;
  options.belief = {*belief, *durations, *seed};
  options.restart_cost = *restart_cost;
  options.policy.max_slowdown = *max_slowdown;
  options.policy.match_patience = *patience;
  options.policy.pauses_runs = flags.pause;
  if (flags.guard != "on" && flags.guard != "off") {
    return UsageError("--guard: {} is neither on nor off", Quoted(flags.guard));
  }
  options.guard = flags.guard == "on";
  if (flags.known) {
    const auto known = ParseNumber("--known", *flags.known, 0, 1);
    RETURN_IF_ERROR(known);
    options.known = *known;
  }
  if (flags.unknown != "guest" && flags.unknown != "alone") {
    return UsageError("--unknown: {} is neither guest nor alone", Quoted(flags.unknown));
  }
  options.unknown_alone = flags.unknown == "alone";
  options.score_starts = flags.score_starts;
  options.keep_decisions = flags.out.has_value();
  auto policies = ParsePolicies(flags.policies, options.policy, optima);
  RETURN_IF_ERROR(policies);
  request.policies = std::move(*policies);
  for (const std::string& name : request.policies) {
    if (request.seeds > 1 && Among(optima, name)) {
      return UsageError("--seeds: {} is solved for one seed at a time; leave one of the two out",
                        name);
    }
  }
  return request;
}

SimulateRequest WithSeed(SimulateRequest request, std::uint64_t seed) {
  request.seed = seed;
  request.options.belief.seed = seed;
  return request;
}

Result<SimulateInputs> ReadInputs(const SimulateFlags& flags) {
  SimulateInputs inputs{catalogue::GpuCatalogue::Builtin(), {}, {}, {}, {}};
  auto mix = catalogue::ReadMix(flags.mix);
  RETURN_IF_ERROR(mix);
  inputs.mix = std::move(*mix);
  if (flags.gpu_catalogue) {
    RETURN_IF_ERROR(inputs.catalogue.Extend(*flags.gpu_catalogue));
  }
  auto cluster = catalogue::ReadCluster(flags.cluster, inputs.catalogue);
  RETURN_IF_ERROR(cluster);
  inputs.cluster = std::move(*cluster);
  if (flags.projects) {
    auto projects = catalogue::ReadProjects(*flags.projects);
    RETURN_IF_ERROR(projects);
    inputs.projects = *std::move(projects);
  }
  auto trace = trace::ReadTrace(flags.trace, flags.format);
  RETURN_IF_ERROR(trace);
  inputs.trace = std::move(*trace);
  auto measurements = ReadMeasurements(flags);
  RETURN_IF_ERROR(measurements);
  inputs.measurements = std::move(*measurements);
  return inputs;
}

Result<simulation::Scenario> ScenarioOf(const SimulateInputs& inputs, const SimulateFlags& flags,
                                        const SimulateRequest& request) {
  auto scenario =
      simulation::BuildScenario(inputs.trace, flags.trace, inputs.cluster, inputs.measurements,
                                inputs.catalogue, {request.work_scale, request.seed, inputs.mix});
  RETURN_IF_ERROR(scenario);
  simulation::CountToProjects(inputs.projects, *scenario);
  return scenario;
}

Result<simulation::Scenario> ReadScenario(const SimulateFlags& flags,
                                          const SimulateRequest& request) {
  const auto inputs = ReadInputs(flags);
  RETURN_IF_ERROR(inputs);
  return ScenarioOf(*inputs, flags, request);
}

}  // namespace sharewell::cli
