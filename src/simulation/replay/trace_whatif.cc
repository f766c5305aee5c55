#include "simulation/replay/trace_whatif.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/registry.h"
#include "simulation/replay/switch_over.h"

namespace sharewell::simulation {
namespace {

// Of what is known of the past.
WhatIfRow RowOfThePast(const Scenario& scenario, const Summary& really) {
  WhatIfRow row{"really",
                really.jobs,
                really.finished,
                really.makespan,
                really.jct.mean,
                really.queueing.mean,
                {},
                {},
                0,
                0};
  std::vector<double> jct, queueing;
  for (std::size_t j = 0; j < std::min(scenario.jobs.size(), scenario.waited.size()); ++j) {
    if (!scenario.waited[j]) continue;
    queueing.push_back(scenario.waited[j]->value);
    jct.push_back(queueing.back() + scenario.truth[j].work.value);
  }
  row.jct_curve = CurveOf(std::move(jct));
  row.queueing_curve = CurveOf(std::move(queueing));
  return row;
}

std::vector<NamedChange> NamedByTheTrace(const Scenario& scenario,
                                         const std::vector<JobChange>& changes) {
  std::vector<NamedChange> named;
  for (const JobChange& change : changes) {
    const core::Job& job = scenario.jobs[change.job];
    named.push_back({0, job.name, scenario.users[job.user.index()], change.before, change.after});
  }
  return named;
}

}  // namespace

core::Result<WhatIfResult> TraceWhatIf(const Scenario& scenario,
                                       std::span<const std::string> policies,
                                       const WhatIfOptions& options) {
  if (policies.empty()) {
    return core::UsageError("no policy to play: name one or more, such as slot and sharewell");
  }
  // Before anything is played; the optima are for `sharewell simulate`.
  for (const std::string& name : policies) {
    policy::Options some;
    some.interference = &scenario.interference;
    RETURN_IF_ERROR(policy::NewPolicy(name, some));
  }
  WhatIfResult result;
  result.jobs = scenario.jobs.size();
  CompareOptions compare;
  compare.simulate.policy.max_slowdown = options.max_slowdown;
  compare.simulate.policy.match_patience = options.match_patience;
  compare.simulate.restart_cost = options.restart_cost;
  compare.simulate.guard = true;
  compare.progress = [&](const std::string&, std::size_t done, std::size_t of) {
    if (options.progress) options.progress(result.policies.size(), done, of);
  };
  compare.done = [&](const std::string& name, const Simulation& simulation) {
    result.policies.push_back(RowOf(name, scenario, simulation.summary, simulation.outcomes));
  };
  auto over = SwitchOver(scenario, {policies.begin(), policies.end()}, std::move(compare));
  RETURN_IF_ERROR(over);
  if (over->really) result.really = RowOfThePast(scenario, over->compared.results.front());
  for (PolicyChange& change : over->changes) {
    WhatIfChange& made = result.changes.emplace_back();
    made.gains = NamedByTheTrace(scenario, change.gains);
    made.losses = NamedByTheTrace(scenario, change.losses);
    made.change = std::move(change);
  }
  for (UserOutcome& user : over->users) {
    // The past stands last here.
    if (over->really) {
      std::rotate(user.jct_mean.begin(), user.jct_mean.begin() + 1, user.jct_mean.end());
    } else {
      user.jct_mean.emplace_back();
    }
    result.users.push_back(std::move(user));
  }
  result.remarks = scenario.remarks;
  if (auto told = InWords(scenario.told); !told.empty()) {
    result.remarks.insert(result.remarks.begin(), std::move(told));
  }
  for (const auto* notes : {&over->compared.notes, &over->notes}) {
    result.remarks.insert(result.remarks.end(), notes->begin(), notes->end());
  }
  return result;
}

}  // namespace sharewell::simulation
