#include "simulation/replay/switch_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/numbers/statistics.h"
#include "core/text/words.h"

namespace sharewell::simulation {
namespace {

using End = sim::JobOutcome::End;
// The policy that stands for today is off by more than this: it is said.
constexpr double kFarOff = 0.25;

Distribution DistributionOf(const std::vector<double>& values) {
  return {core::Mean(values), core::Quantile(values, 0.5), core::Quantile(values, 0.95),
          core::Quantile(values, 0.99)};
}

CompletionTimes ReallyTaken(const Scenario& scenario) {
  CompletionTimes out(scenario.jobs.size());
  for (std::size_t j = 0; j < std::min(out.size(), scenario.waited.size()); ++j) {
    if (scenario.waited[j]) out[j] = scenario.waited[j]->value + scenario.truth[j].work.value;
  }
  return out;
}

// What is known of the past; the rest stays unknown.
Summary Really(const Scenario& scenario, const CompletionTimes& taken) {
  Summary s;
  s.policy = "really";
  s.history = true;
  std::vector<double> jct, queueing, run;
  GroupedTimes groups;
  double last = 0;
  for (std::size_t j = 0; j < taken.size(); ++j) {
    if (!taken[j]) continue;
    ++s.jobs;
    jct.push_back(*taken[j]);
    queueing.push_back(scenario.waited[j]->value);
    groups.Add(scenario.jobs[j].user.index(), scenario.jobs[j].gpus, queueing.back(), taken[j]);
    run.push_back(scenario.truth[j].work.value);
    last = std::max(last, scenario.jobs[j].submit.value + *taken[j]);
    s.gpu_hours += run.back() * scenario.jobs[j].gpus / 3600;
  }
  s.finished = s.jobs;
  s.by_size = groups.BySize();
  s.by_user = groups.ByUser(scenario.users);
  s.makespan = last;
  s.jct = DistributionOf(jct);
  s.queueing = DistributionOf(queueing);
  s.run = DistributionOf(run);
  const double gpu_seconds = static_cast<double>(scenario.cluster.gpu_count()) * last;
  if (gpu_seconds > 0) s.allocated = s.gpu_hours * 3600 / gpu_seconds;
  return s;
}

// How far the simulated today is from what really happened.
std::string TrustNote(const Summary& really, const Summary& today, std::size_t of) {
  std::string note;
  if (really.jobs < of) {
    note = fmt::format("what really happened is known of {} of {} jobs; ", really.jobs, of);
  }
  if (!really.jct.mean || !today.jct.mean || *really.jct.mean <= 0) return note;
  const double off = *today.jct.mean / *really.jct.mean - 1;
  note += fmt::format(
      "{} stands for what is done today: its mean completion time is {:.0f} % {} what really "
      "happened{}",
      today.policy, 100 * std::abs(off), off < 0 ? "below" : "above",
      std::abs(off) > kFarOff
          ? ". That is far off: limits of users, priorities, reservations, nodes that were down, "
            "or "
            "a cluster that was not as it is described are not in the simulation; trust the "
            "comparison between the policies more than the times"
          : "");
  return note;
}

}  // namespace

core::Result<SwitchOverResult> SwitchOver(const Scenario& scenario,
                                          const std::vector<std::string>& policies,
                                          CompareOptions options) {
  SHAREWELL_CHECK(!policies.empty());
  std::vector<CompletionTimes> columns;
  SwitchOverResult out;
  const CompletionTimes real = ReallyTaken(scenario);
  out.really = std::any_of(real.begin(), real.end(), [](const auto& t) { return t.has_value(); });
  if (out.really) columns.push_back(real);
  const auto done = std::move(options.done);
  options.done = [&](const std::string& policy, const Simulation& simulation) {
    CompletionTimes& taken = columns.emplace_back(scenario.jobs.size());
    for (std::size_t j = 0; j < taken.size(); ++j) {
      const sim::JobOutcome& outcome = simulation.outcomes[j];
      if (outcome.end != End::kFinished) continue;
      taken[j] = (outcome.finish - scenario.jobs[j].submit).value;
    }
    if (done) done(policy, simulation);
  };
  auto compared = ComparePolicies(scenario, policies, std::move(options));
  RETURN_IF_ERROR(compared);
  out.compared = std::move(*compared);
  const std::size_t first = out.really ? 1 : 0;
  for (std::size_t p = 1; p < policies.size(); ++p) {
    out.changes.push_back(ChangeOf(policies[p], columns[first], columns[first + p]));
  }
  out.users = UsersOf(scenario, columns);
  if (const std::size_t never = out.compared.results.front().infeasible; never > 0) {
    out.notes.push_back(fmt::format(
        "{} can never run on this cluster and {} left out of all times: describe the cluster that "
        "the trace comes from",
        core::Count(never, "job"), never == 1 ? "is" : "are"));
  }
  if (out.really) {
    const Summary really = Really(scenario, real);
    out.notes.push_back(TrustNote(really, out.compared.results.front(), scenario.jobs.size()));
    out.compared.results.insert(out.compared.results.begin(), really);
  } else {
    out.notes.emplace_back(
        "the trace does not tell how long jobs really waited (waited_seconds), so that only "
        "simulated policies are compared");
  }
  return out;
}

}  // namespace sharewell::simulation
