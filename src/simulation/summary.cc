#include "simulation/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/numbers/statistics.h"

namespace sharewell::simulation {
namespace {

using core::Mean;
using core::Quantile;
using End = sim::JobOutcome::End;

Distribution Describe(const std::vector<double>& values) {
  return {Mean(values), Quantile(values, 0.5), Quantile(values, 0.95), Quantile(values, 0.99)};
}

std::vector<ProjectTimes> ByProject(const Scenario& scenario, const sim::World& world) {
  std::vector<ProjectTimes> out;
  GroupedTimes groups;
  std::vector<std::string> names;
  for (const core::Project& project : scenario.projects) {
    out.push_back({{project.name, 0, {}, {}, {}, {}}, project.share, 0});
    names.push_back(project.name);
  }
  for (std::size_t j = 0; !out.empty() && j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    const sim::JobOutcome& outcome = world.outcomes()[j];
    std::optional<double> wait, taken;
    if (outcome.first_start) wait = (*outcome.first_start - job.submit).value;
    if (outcome.end == End::kFinished) taken = (outcome.finish - job.submit).value;
    groups.Add(job.project.index(), job.gpus, wait, taken);
    out[job.project.index()].gpu_hours += outcome.run_time.value * job.gpus / 3600;
  }
  for (GroupTimes& times : groups.ByUser(names)) {
    out[core::ProjectNamed(scenario.projects, times.name)->index()].times = std::move(times);
  }
  return out;
}

}  // namespace

Summary Summarise(const Scenario& scenario, const sim::World& world, std::string policy,
                  const std::vector<double>& decision_seconds, double cpu_seconds) {
  Summary s;
  s.policy = std::move(policy);
  s.jobs = scenario.jobs.size();
  std::vector<double> jct, queueing, run, slowdown;
  std::vector<std::vector<double>> stretch_by_user(scenario.users.size());
  GroupedTimes groups;
  std::optional<double> first, last;
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    const sim::JobOutcome& outcome = world.outcomes()[j];
    const double submit = job.submit.value;
    first = first ? std::min(*first, submit) : submit;
    s.ooms += static_cast<std::uint64_t>(outcome.ooms);
    s.moves += static_cast<std::uint64_t>(outcome.moves);
    s.gpu_hours += outcome.run_time.value * job.gpus / 3600;
    std::optional<double> wait, taken;
    if (outcome.first_start) wait = outcome.first_start->value - submit;
    if (outcome.end == End::kFinished) taken = outcome.finish.value - submit;
    if (wait) queueing.push_back(*wait);
    groups.Add(job.user.index(), job.gpus, wait, taken);
    switch (outcome.end) {
      case End::kFinished:
        ++s.finished;
        break;
      case End::kFailed:
        ++s.failed;
        break;
      case End::kInfeasible:
        ++s.infeasible;
        break;
      case End::kUnfinished:
        ++s.unfinished;
        break;
    }
    if (outcome.end == End::kFailed) last = std::max(last.value_or(0), outcome.finish.value);
    if (outcome.end != End::kFinished) continue;
    last = std::max(last.value_or(0), outcome.finish.value);
    s.resubmissions += static_cast<std::uint64_t>(outcome.ooms);
    jct.push_back(*taken);
    run.push_back(outcome.run_time.value);
    const double worked = (outcome.run_time - outcome.restarting).value;
    if (outcome.undisturbed.value > 0) slowdown.push_back(worked / outcome.undisturbed.value);
    stretch_by_user[job.user.index()].push_back(jct.back() /
                                                std::max(scenario.truth[j].work.value, 1e-9));
  }
  s.by_size = groups.BySize();
  s.by_user = groups.ByUser(scenario.users);
  s.by_project = ByProject(scenario, world);
  s.jct = Describe(jct);
  s.queueing = Describe(queueing);
  s.run = Describe(run);
  s.slowdown_mean = Mean(slowdown);
  s.slowdown_p95 = Quantile(slowdown, 0.95);
  std::vector<double> share;
  for (const auto& stretch : stretch_by_user) {
    const auto mean = Mean(stretch);
    if (!mean) continue;
    share.push_back(1 / *mean);
    s.finish_time_fairness = std::max(s.finish_time_fairness.value_or(0), *mean);
  }
  s.jain = core::Jain(share);
  const sim::Totals& totals = world.totals();
  const double gpus = static_cast<double>(scenario.cluster.gpu_count());
  if (first && last) s.makespan = *last - *first;
  // Means are over the makespan; of a run that was cut short, over what was simulated.
  std::optional<double> span = s.makespan;
  if (first && s.unfinished > 0) span = world.now().value - *first;
  if (span && *span > 0) {
    const double gpu_seconds = gpus * *span;
    if (gpus > 0) {
      if (totals.busy_known) s.busy = totals.busy / gpu_seconds;
      if (totals.busy_known) s.sm = totals.sm / gpu_seconds;
      s.allocated = totals.allocated / gpu_seconds;
    }
    s.cores_reserved = totals.cores_reserved / *span;
    s.cores_used = totals.cores_used / *span;
  }
  if (totals.power_known) s.energy_kwh = totals.joules / 3.6e6;
  s.decision_p50 = Quantile(decision_seconds, 0.5);
  s.decision_p99 = Quantile(decision_seconds, 0.99);
  if (cpu_seconds > 0) s.jobs_per_cpu_second = static_cast<double>(s.jobs) / cpu_seconds;
  return s;
}

std::string WhyNoEnergy(const Scenario& scenario) {
  std::set<std::string> models;
  for (const core::GpuModel& model : scenario.cluster.models()) {
    if (!model.idle_power) models.insert(model.name);
  }
  if (!models.empty()) {
    return fmt::format(
        "energy is not known: the GPU catalogue has no idle power of {} (column idle_power_w of a "
        "file for --gpu-catalogue gives it)",
        fmt::join(models, ", "));
  }
  const auto without = static_cast<std::size_t>(
      std::count_if(scenario.jobs.begin(), scenario.jobs.end(), [&](const core::Job& job) {
        const auto& on = scenario.truth[job.id.index()].on;
        return job.gpus > 0 && std::any_of(on.begin(), on.end(), [](const auto& one) {
                 return one.demand.power.value <= 0;
               });
      }));
  if (without == 0) return {};
  return fmt::format("energy is not known: of {} of {} jobs nobody knows the power draw", without,
                     scenario.jobs.size());
}

void CountEvictions(const Scenario& scenario, const sim::World& world, Summary& to) {
  to.evictions = 0;
  to.evicted_gpu_hours = 0;
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const sim::JobOutcome& outcome = world.outcomes()[j];
    *to.evictions += static_cast<std::uint64_t>(outcome.evictions);
    *to.evicted_gpu_hours += outcome.evicted.value * scenario.jobs[j].gpus / 3600;
  }
}

}  // namespace sharewell::simulation
