#include "research/optimum/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "research/optimum/optimal.h"
#include "research/optimum/shared_optimum.h"

namespace sharewell::research {

core::Result<simulation::Comparison> CompareWithOptima(const simulation::Scenario& scenario,
                                                       const std::vector<std::string>& policies,
                                                       simulation::CompareOptions options) {
  std::vector<std::string> simulated;
  for (const std::string& name : policies) {
    if (name != kOptimal && name != kOptimalShared) simulated.push_back(name);
  }
  const auto progress = options.progress;
  const simulation::SimulateOptions simulate = options.simulate;
  auto compared = simulation::ComparePolicies(scenario, simulated, std::move(options));
  RETURN_IF_ERROR(compared);

  const auto asked = [&](std::string_view name) {
    return std::find(policies.begin(), policies.end(), name) != policies.end();
  };
  const auto begin = [&](std::string_view name) {
    if (progress) progress(std::string(name), 0, scenario.jobs.size());
  };
  std::vector<std::string> notes = std::move(compared->notes);
  std::optional<OptimalResult> optimum;
  if (asked(kOptimal)) {
    begin(kOptimal);
    auto solved = SolveOptimal(scenario);
    if (solved) {
      optimum = std::move(*solved);
    } else if (solved.error().kind == core::ErrorKind::kFailed && policies.size() > 1) {
      // Not proven in time: the others' results still stand.
      notes.push_back(solved.error().message);
    } else {
      return tl::unexpected(std::move(solved.error()));
    }
  }
  std::optional<SharedOptimum> shared;
  if (asked(kOptimalShared)) {
    begin(kOptimalShared);
    SharedOptimumOptions how;
    how.configurations = {static_cast<std::size_t>(simulate.policy.max_jobs_on_gpu),
                          simulate.policy.sm_shares, simulate.belief.seed};
    auto solved = SolveSharedOptimum(scenario, how);
    RETURN_IF_ERROR(solved);
    shared = std::move(*solved);
    if (!shared->schedule_proven) {
      notes.push_back(fmt::format(
          "{}: the bound is proven; that no schedule without pauses ends sooner than the one shown "
          "is not",
          kOptimalShared));
    }
  }

  simulation::Comparison out;
  auto next = compared->results.begin();
  for (const std::string& name : policies) {
    if (name == kOptimal) {
      if (optimum) out.results.push_back(optimum->summary);
    } else if (name == kOptimalShared) {
      out.results.push_back(shared->summary);
    } else {
      out.results.push_back(std::move(*next++));
    }
  }
  for (simulation::Summary& summary : out.results) {
    if (optimum) SetDistance(*optimum, summary);
    if (shared) SetDistance(*shared, summary);
  }
  out.notes = std::move(notes);
  return out;
}

}  // namespace sharewell::research
