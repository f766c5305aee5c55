#include "report/simulation/simulation_json.h"

#include <algorithm>
#include <string_view>

#include "report/text/json.h"

namespace sharewell::report {
namespace {

void Add(Json& to, const std::string& name, const study::Distribution& of) {
  to[name + "_mean_seconds"] = OrNull(of.mean);
  to[name + "_p50_seconds"] = OrNull(of.p50);
  to[name + "_p95_seconds"] = OrNull(of.p95);
  to[name + "_p99_seconds"] = OrNull(of.p99);
}

// `guarded`: some policy of the report was watched by the guard.
Json ResultOf(const study::Summary& s, bool guarded) {
  Json r;
  r["policy"] = s.policy;
  r["jobs"] = s.jobs;
  r["jobs_finished"] = s.finished;
  r["jobs_failed"] = s.failed;
  r["jobs_infeasible"] = s.infeasible;
  r["jobs_unfinished"] = s.unfinished;
  r["makespan_seconds"] = OrNull(s.makespan);
  Add(r, "jct", s.jct);
  Add(r, "run", s.run);
  Add(r, "queue", s.queueing);
  r["gpu_busy_mean"] = OrNull(s.busy);
  r["gpu_allocated_mean"] = OrNull(s.allocated);
  r["gpu_sm_mean"] = OrNull(s.sm);
  r["slowdown_mean"] = OrNull(s.slowdown_mean);
  r["slowdown_p95"] = OrNull(s.slowdown_p95);
  const auto simulated = [&](std::uint64_t n) { return s.history ? Json(nullptr) : Json(n); };
  r["oom_count"] = simulated(s.ooms);
  r["resubmissions"] = simulated(s.resubmissions);
  r["moves"] = simulated(s.moves);
  if (guarded) {
    r["evictions"] = s.evictions ? Json(*s.evictions) : Json(nullptr);
    r["evicted_gpu_hours"] = OrNull(s.evicted_gpu_hours);
  }
  r["fairness_jain"] = OrNull(s.jain);
  r["finish_time_fairness"] = OrNull(s.finish_time_fairness);
  r["gpu_hours"] = OrNull(s.gpu_hours);
  r["energy_kwh"] = OrNull(s.energy_kwh);
  r["cpu_cores_reserved_mean"] = OrNull(s.cores_reserved);
  r["cpu_cores_used_mean"] = OrNull(s.cores_used);
  r["decision_p50_seconds"] = OrNull(s.decision_p50);
  r["decision_p99_seconds"] = OrNull(s.decision_p99);
  r["jobs_per_cpu_second"] = OrNull(s.jobs_per_cpu_second);
  r["distance_from_optimal"] = OrNull(s.distance_from_optimal);
  r["distance_from_shared_optimum"] = OrNull(s.distance_from_shared_optimum);
  return r;
}

}  // namespace

std::string SimulationJson(const SimulationReport& report) {
  Json json;
  json["schema"] = kSchema;
  json["trace"] = report.trace;
  json["cluster"] = report.cluster;
  json["seed"] = report.seed;
  json["belief"] = report.belief;
  json["durations"] = report.durations;
  json["notes"] = report.notes;
  json["results"] = Json::array();
  const bool guarded = std::any_of(report.results.begin(), report.results.end(),
                                   [](const study::Summary& s) { return s.evictions.has_value(); });
  for (const study::Summary& summary : report.results) {
    json["results"].push_back(ResultOf(summary, guarded));
  }
  return Document(json);
}

}  // namespace sharewell::report
