#include "simulation/results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/quoted.h"
#include "json/value.h"
#include "platform/files/csv.h"
#include "platform/files/text.h"

namespace sharewell::simulation {
namespace {

using json::Value;

constexpr std::size_t kMostPolicies = 1000;
constexpr std::int64_t kMostGpus = 1'000'000;
// Beyond a million years no axis has a label.
constexpr platform::Range kTimes{-3.2e13, 3.2e13};

// Of the wrong kind counts as unknown.
std::string TextIn(Value object, std::string_view key) {
  return std::string(object[key].Text().value_or(""));
}

std::optional<double> NumberIn(Value object, std::string_view key) { return object[key].Number(); }

std::uint64_t CountIn(Value object, std::string_view key) {
  return object[key].Unsigned().value_or(0);
}

Distribution DistributionIn(Value object, const std::string& name) {
  return {NumberIn(object, name + "_mean_seconds"), NumberIn(object, name + "_p50_seconds"),
          NumberIn(object, name + "_p95_seconds"), NumberIn(object, name + "_p99_seconds")};
}

Summary SummaryFrom(Value r) {
  Summary s;
  s.policy = TextIn(r, "policy");
  s.jobs = CountIn(r, "jobs");
  s.finished = CountIn(r, "jobs_finished");
  s.failed = CountIn(r, "jobs_failed");
  s.infeasible = CountIn(r, "jobs_infeasible");
  s.unfinished = CountIn(r, "jobs_unfinished");
  s.makespan = NumberIn(r, "makespan_seconds");
  s.jct = DistributionIn(r, "jct");
  s.run = DistributionIn(r, "run");
  s.queueing = DistributionIn(r, "queue");
  s.busy = NumberIn(r, "gpu_busy_mean");
  s.allocated = NumberIn(r, "gpu_allocated_mean");
  s.sm = NumberIn(r, "gpu_sm_mean");
  s.slowdown_mean = NumberIn(r, "slowdown_mean");
  s.slowdown_p95 = NumberIn(r, "slowdown_p95");
  s.history = !NumberIn(r, "oom_count");
  s.ooms = CountIn(r, "oom_count");
  s.resubmissions = CountIn(r, "resubmissions");
  s.moves = CountIn(r, "moves");
  if (r.Has("evictions")) s.evictions = CountIn(r, "evictions");
  if (r.Has("reclaims")) s.reclaims = CountIn(r, "reclaims");
  s.evicted_gpu_hours = NumberIn(r, "evicted_gpu_hours");
  s.jain = NumberIn(r, "fairness_jain");
  s.finish_time_fairness = NumberIn(r, "finish_time_fairness");
  s.gpu_hours = NumberIn(r, "gpu_hours").value_or(0);
  s.energy_kwh = NumberIn(r, "energy_kwh");
  s.cores_reserved = NumberIn(r, "cpu_cores_reserved_mean");
  s.cores_used = NumberIn(r, "cpu_cores_used_mean");
  s.decision_p50 = NumberIn(r, "decision_p50_seconds");
  s.decision_p99 = NumberIn(r, "decision_p99_seconds");
  s.jobs_per_cpu_second = NumberIn(r, "jobs_per_cpu_second");
  s.distance_from_optimal = NumberIn(r, "distance_from_optimal");
  s.by_size = ReadGroupTimes(r["by_size"], "size");
  s.by_user = ReadGroupTimes(r["by_user"], "user");
  return s;
}

}  // namespace

std::vector<GroupTimes> ReadGroupTimes(Value list, std::string_view name) {
  std::vector<GroupTimes> groups;
  for (const Value group : list.items()) {
    groups.push_back({TextIn(group, name), CountIn(group, "jobs"),
                      NumberIn(group, "wait_mean_seconds"), NumberIn(group, "wait_p99_seconds"),
                      NumberIn(group, "jct_mean_seconds"), NumberIn(group, "jct_p99_seconds")});
  }
  return groups;
}

core::Result<SimulationResults> ReadSimulationSummary(std::string_view text,
                                                      const std::string& name) {
  const auto parsed = json::Document::Parse(text);
  const Value document = json::RootOf(parsed), results = document["results"];
  const auto all = results.items();
  if (results.empty() || results.size() > kMostPolicies ||
      !std::all_of(all.begin(), all.end(),
                   [](Value result) { return !TextIn(result, "policy").empty(); })) {
    return core::UsageError(
        "{}: this is not the summary of a simulation; give the folder that `sharewell simulate "
        "--out DIR` wrote",
        core::Quoted(name));
  }
  SimulationResults out;
  out.trace = TextIn(document, "trace");
  out.cluster = TextIn(document, "cluster");
  out.belief = TextIn(document, "belief");
  out.durations = TextIn(document, "durations");
  if (const auto seed = document["seed"].Unsigned()) out.seed = *seed;
  for (const Value note : document["notes"].items()) {
    if (const auto words = note.Text()) out.notes.emplace_back(*words);
  }
  for (const Value result : all) out.policies.push_back({SummaryFrom(result), {}, {}});
  return out;
}

core::Result<std::vector<SimulatedJob>> ReadSimulatedJobs(std::string_view text,
                                                          const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto id = csv.Require("id"), user = csv.Require("user"), workload = csv.Find("workload");
  const auto gpus = csv.Require("gpus"), submit = csv.Require("submit_seconds");
  const auto start = csv.Require("first_start_seconds"), finish = csv.Require("finish_seconds");
  const auto end = csv.Require("end"), run = csv.Find("run_seconds");
  const auto queue = csv.Find("queue_seconds"), jct = csv.Find("jct_seconds");
  const auto slowdown = csv.Find("slowdown"), model = csv.Find("gpu_model");
  std::vector<SimulatedJob> jobs;
  while (csv.Next()) {
    SimulatedJob job;
    job.id = csv.Text(id);
    job.user = csv.Text(user);
    job.workload = csv.Text(workload);
    job.gpus = csv.Integer(gpus, 0, kMostGpus);
    job.submit = csv.Number(submit, kTimes);
    job.start = csv.OptionalNumber(start, kTimes);
    job.finish = csv.OptionalNumber(finish, kTimes);
    job.end = csv.Text(end);
    job.run = csv.OptionalNumber(run, kTimes);
    job.queue = csv.OptionalNumber(queue, kTimes);
    job.jct = csv.OptionalNumber(jct, kTimes);
    job.slowdown = csv.OptionalNumber(slowdown, kTimes);
    job.gpu_model = csv.Text(model);
    jobs.push_back(std::move(job));
  }
  if (!csv.ok()) return csv.error();
  return jobs;
}

core::Result<std::vector<SimulatedDecision>> ReadSimulatedDecisions(std::string_view text,
                                                                    const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto time = csv.Require("time_seconds"), job = csv.Require("job");
  const auto what = csv.Require("what"), gpus = csv.Require("gpus"), reason = csv.Find("reason");
  std::vector<SimulatedDecision> decisions;
  while (csv.Next()) {
    SimulatedDecision decision;
    decision.time = csv.Number(time, kTimes);
    decision.job = csv.Text(job);
    decision.what = csv.Text(what);
    for (const std::string_view gpu : platform::SplitList(csv.Text(gpus), ' ')) {
      decision.gpus.emplace_back(gpu);
    }
    decision.reason = csv.Text(reason);
    decisions.push_back(std::move(decision));
  }
  if (!csv.ok()) return csv.error();
  std::stable_sort(
      decisions.begin(), decisions.end(),
      [](const SimulatedDecision& a, const SimulatedDecision& b) { return a.time < b.time; });
  return decisions;
}

}  // namespace sharewell::simulation
