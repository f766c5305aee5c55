#include "report/simulation/simulation_json.h"

#include <algorithm>
#include <string_view>

#include "report/text/json.h"

namespace sharewell::report {
namespace {

using json::Writer;

void Write(Writer& out, const std::string& name, const study::Distribution& of) {
  out.Field(name + "_mean_seconds", of.mean);
  out.Field(name + "_p50_seconds", of.p50);
  out.Field(name + "_p95_seconds", of.p95);
  out.Field(name + "_p99_seconds", of.p99);
}

// `guarded`: some policy of the report was watched by the guard.
void WriteResult(Writer& out, const study::Summary& s, bool guarded) {
  out.Field("policy", s.policy);
  out.Field("jobs", s.jobs);
  out.Field("jobs_finished", s.finished);
  out.Field("jobs_failed", s.failed);
  out.Field("jobs_infeasible", s.infeasible);
  out.Field("jobs_unfinished", s.unfinished);
  out.Field("makespan_seconds", s.makespan);
  Write(out, "jct", s.jct);
  Write(out, "run", s.run);
  Write(out, "queue", s.queueing);
  out.Field("gpu_busy_mean", s.busy);
  out.Field("gpu_allocated_mean", s.allocated);
  out.Field("gpu_sm_mean", s.sm);
  out.Field("slowdown_mean", s.slowdown_mean);
  out.Field("slowdown_p95", s.slowdown_p95);
  const auto simulated = [&](std::uint64_t n) {
    return s.history ? std::nullopt : std::optional(n);
  };
  out.Field("oom_count", simulated(s.ooms));
  out.Field("resubmissions", simulated(s.resubmissions));
  out.Field("moves", simulated(s.moves));
  if (guarded) {
    out.Field("evictions", s.evictions);
    out.Field("evicted_gpu_hours", s.evicted_gpu_hours);
  }
  out.Field("fairness_jain", s.jain);
  out.Field("finish_time_fairness", s.finish_time_fairness);
  out.Field("gpu_hours", s.gpu_hours);
  out.Field("energy_kwh", s.energy_kwh);
  out.Field("cpu_cores_reserved_mean", s.cores_reserved);
  out.Field("cpu_cores_used_mean", s.cores_used);
  out.Field("decision_p50_seconds", s.decision_p50);
  out.Field("decision_p99_seconds", s.decision_p99);
  out.Field("jobs_per_cpu_second", s.jobs_per_cpu_second);
  out.Field("distance_from_optimal", s.distance_from_optimal);
  out.Field("distance_from_shared_optimum", s.distance_from_shared_optimum);
}

}  // namespace

void WriteSimulation(Writer& out, const SimulationReport& report) {
  out.Field("trace", report.trace);
  out.Field("cluster", report.cluster);
  out.Field("seed", report.seed);
  out.Field("belief", report.belief);
  out.Field("durations", report.durations);
  out.Field("notes", report.notes);
  const bool guarded = std::any_of(report.results.begin(), report.results.end(),
                                   [](const study::Summary& s) { return s.evictions.has_value(); });
  out.List("results", report.results, [&](const study::Summary& summary) {
    out.Object([&] { WriteResult(out, summary, guarded); });
  });
}

std::string SimulationJson(const SimulationReport& report) {
  return JsonReport([&](Writer& out) { WriteSimulation(out, report); });
}

}  // namespace sharewell::report
