#include "cli/simulate_request.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "cli/values.h"
#include "core/suggest.h"
#include "platform/files/builtin_measurements.h"
#include "platform/files/cluster_file.h"
#include "platform/files/gpu_catalogue.h"
#include "platform/files/interference_file.h"
#include "platform/files/profiles_file.h"
#include "platform/files/text.h"
#include "policy/registry.h"
#include "study/optimal.h"
#include "trace/reader.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using platform::Shown;

// A hundred years: no trace is longer.
constexpr int kMostDays = 36525;

// Every policy is made once before anything is read, so that a typing error costs no time.
Result<std::vector<std::string>> ParsePolicies(const std::vector<std::string>& given,
                                               const policy::Options& options) {
  std::vector<std::string> policies;
  for (const std::string& list : given) {
    std::string_view rest = list;
    while (true) {
      const auto comma = rest.find(',');
      const std::string name(platform::Trimmed(rest.substr(0, comma)));
      if (name.empty()) {
        return UsageError("--policy: {} has an empty name; give names with commas between them",
                          Shown(list));
      }
      if (std::find(policies.begin(), policies.end(), name) != policies.end()) {
        return UsageError("--policy: {} is given twice", Shown(name));
      }
      if (auto made = policy::NewPolicy(name, options); !made && name != study::kOptimal) {
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
  core::Measurements measurements = platform::BuiltinMeasurements();
  if (flags.profiles) {
    auto profiles = platform::ReadProfiles(*flags.profiles);
    if (!profiles) return tl::unexpected(profiles.error());
    measurements.profiles = std::move(*profiles);
    measurements.stand_ins = measurements.profiles.size();
    KeepComparable(measurements);
  }
  if (flags.interference) {
    auto measured = platform::ReadInterference(*flags.interference);
    if (!measured) return tl::unexpected(measured.error());
    measurements.profiles.insert(measurements.profiles.end(), measured->profiles.begin(),
                                 measured->profiles.end());
    measurements.pairs = std::move(measured->pairs);
  }
  return measurements;
}

}  // namespace

Result<SimulateRequest> Parse(const SimulateFlags& flags) {
  SimulateRequest request;
  study::SimulateOptions& options = request.options;
  const auto seed = ParseWhole("--seed", flags.seed, 0, std::numeric_limits<std::uint64_t>::max());
  if (!seed) return tl::unexpected(seed.error());
  request.predicted = flags.belief == "predicted";
  const auto belief =
      ParseBelief("--belief", request.predicted ? SimulateFlags().belief : flags.belief);
  if (!belief) return tl::unexpected(belief.error());
  const auto durations = ParseDurations("--durations", flags.durations);
  if (!durations) return tl::unexpected(durations.error());
  const auto max_slowdown = ParseNumber("--max-slowdown", flags.max_slowdown, 1, 100);
  if (!max_slowdown) return tl::unexpected(max_slowdown.error());
  const auto restart_cost = ParseTime("--restart-cost", flags.restart_cost, 1);
  if (!restart_cost) return tl::unexpected(restart_cost.error());
  const auto work_scale = ParseNumber("--work-scale", flags.work_scale, 0.001, 1000);
  if (!work_scale) return tl::unexpected(work_scale.error());
  if (flags.until) {
    const auto until = ParseTime("--until", *flags.until, kMostDays);
    if (!until) return tl::unexpected(until.error());
    options.until = *until;
  }
  request.seed = *seed;
  request.work_scale = *work_scale;
  options.belief = {*belief, *durations, *seed};
  options.restart_cost = *restart_cost;
  options.policy.max_slowdown = *max_slowdown;
  options.keep_decisions = flags.out.has_value();
  auto policies = ParsePolicies(flags.policies, options.policy);
  if (!policies) return tl::unexpected(policies.error());
  request.policies = std::move(*policies);
  return request;
}

Result<study::Scenario> ReadScenario(const SimulateFlags& flags, const SimulateRequest& request) {
  auto catalogue = platform::GpuCatalogue::Builtin();
  if (flags.gpu_catalogue) {
    if (auto ok = catalogue.Extend(*flags.gpu_catalogue); !ok) return tl::unexpected(ok.error());
  }
  auto cluster = platform::ReadCluster(flags.cluster, catalogue);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto trace = trace::ReadTrace(flags.trace, flags.format);
  if (!trace) return tl::unexpected(trace.error());
  const auto measurements = ReadMeasurements(flags);
  if (!measurements) return tl::unexpected(measurements.error());
  return study::BuildScenario(*trace, flags.trace, std::move(*cluster), *measurements, catalogue,
                              {request.work_scale, request.seed});
}

}  // namespace sharewell::cli
