#include "report/simulation/simulation_json.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "report/simulation/group_times.h"
#include "report/simulation/project_times.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using json::Writer;

void Write(Writer& out, const std::string& name, const simulation::Distribution& of) {
  out.Field(name + "_mean_seconds", of.mean);
  out.Field(name + "_p50_seconds", of.p50);
  out.Field(name + "_p95_seconds", of.p95);
  out.Field(name + "_p99_seconds", of.p99);
}

void Write(Writer& out, const std::string& name, const simulation::StartsScore& score) {
  out.Object(name, [&] {
    out.Field("jobs_waited", score.scored);
    out.Field("sampled", score.sampled);
    out.Field("told", score.told);
    out.Field("error_median", score.error_median);
    out.Field("error_p90", score.error_p90);
  });
}

// `guarded`: some policy of the report was watched by the guard.
void WriteResult(Writer& out, const simulation::Summary& s, bool guarded) {
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
  if (s.reclaims) out.Field("reclaims", *s.reclaims);
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
  if (s.starts) {
    out.Object("expected_starts", [&] {
      Write(out, "durations_as_believed", s.starts->believed);
      Write(out, "durations_known", s.starts->known);
      Write(out, "durations_unknown", s.starts->unknown);
    });
  }
  out.Field("decision_p50_seconds", s.decision_p50);
  out.Field("decision_p99_seconds", s.decision_p99);
  out.Field("jobs_per_cpu_second", s.jobs_per_cpu_second);
  out.Field("distance_from_optimal", s.distance_from_optimal);
  out.Field("distance_from_shared_optimum", s.distance_from_shared_optimum);
  WriteGroups(out, "by_size", "size", s.by_size);
  WriteGroups(out, "by_user", "user", s.by_user);
  WriteProjects(out, s.by_project);
}

struct SpreadFigure {
  std::string_view key;  // as in a result
  std::optional<double> (*of)(const simulation::Summary&);
};

// What depends on what a seed draws; timings are left out.
constexpr SpreadFigure kSpreadFigures[] = {
    {"makespan_seconds", [](const simulation::Summary& s) { return s.makespan; }},
    {"jct_mean_seconds", [](const simulation::Summary& s) { return s.jct.mean; }},
    {"jct_p50_seconds", [](const simulation::Summary& s) { return s.jct.p50; }},
    {"jct_p99_seconds", [](const simulation::Summary& s) { return s.jct.p99; }},
    {"queue_mean_seconds", [](const simulation::Summary& s) { return s.queueing.mean; }},
    {"queue_p99_seconds", [](const simulation::Summary& s) { return s.queueing.p99; }},
    {"run_mean_seconds", [](const simulation::Summary& s) { return s.run.mean; }},
    {"gpu_busy_mean", [](const simulation::Summary& s) { return s.busy; }},
    {"slowdown_mean", [](const simulation::Summary& s) { return s.slowdown_mean; }},
    {"slowdown_p95", [](const simulation::Summary& s) { return s.slowdown_p95; }},
    {"fairness_jain", [](const simulation::Summary& s) { return s.jain; }},
    {"finish_time_fairness", [](const simulation::Summary& s) { return s.finish_time_fairness; }},
    {"gpu_hours", [](const simulation::Summary& s) { return std::optional(s.gpu_hours); }},
};

void WriteSpread(Writer& out, std::string_view key,
                 const std::vector<std::optional<double>>& values) {
  const auto spread = simulation::SpreadOf(values);
  if (!spread) {
    out.Null(key);
    return;
  }
  const auto ends = std::minmax_element(spread->values.begin(), spread->values.end());
  out.Object(key, [&] {
    out.Field("mean", spread->mean);
    out.Field("stddev", spread->deviation);
    out.Field("min", *ends.first);
    out.Field("max", *ends.second);
    out.Field("values", spread->values);
  });
}

void WriteSpreads(Writer& out, const PolicyRuns& runs) {
  out.Field("policy", runs.front()->policy);
  const auto over_seeds = [&](const auto& of) {
    std::vector<std::optional<double>> values;
    for (const simulation::Summary* summary : runs) values.push_back(of(*summary));
    return values;
  };
  for (const SpreadFigure& figure : kSpreadFigures) {
    WriteSpread(out, figure.key, over_seeds(figure.of));
  }
  // A seed draws workloads and errors, never how many GPUs a job asks for: sizes are the same.
  out.List("by_size", runs.front()->by_size, [&](const simulation::GroupTimes& size) {
    out.Object([&] {
      out.Field("size", size.name);
      out.Field("jobs", size.jobs);
      for (const GroupFigure& figure : GroupFigures()) {
        WriteSpread(out, figure.key, over_seeds([&](const simulation::Summary& s) {
                      const simulation::GroupTimes* group = FindGroup(s.by_size, size.name);
                      return group != nullptr ? group->*figure.of : std::nullopt;
                    }));
      }
    });
  });
}

}  // namespace

void WriteSimulation(Writer& out, const SimulationReport& report) {
  out.Field("trace", report.trace);
  out.Field("cluster", report.cluster);
  out.Field("seed", report.seed);
  out.Field("belief", report.belief);
  out.Field("durations", report.durations);
  // First of all notes, as it weighs most.
  std::vector<std::string> notes = report.notes;
  if (!report.told.empty()) notes.insert(notes.begin(), report.told);
  out.Field("notes", notes);
  const bool guarded =
      std::any_of(report.results.begin(), report.results.end(),
                  [](const simulation::Summary& s) { return s.evictions.has_value(); });
  out.List("results", report.results, [&](const simulation::Summary& summary) {
    out.Object([&] { WriteResult(out, summary, guarded); });
  });
  if (report.seeds.empty()) return;
  out.List("seeds", report.seeds,
           [&](const simulation::SeedResults& seed) { out.Value(seed.seed); });
  out.List("spreads", RunsOf(report),
           [&](const PolicyRuns& runs) { out.Object([&] { WriteSpreads(out, runs); }); });
}

std::string SimulationJson(const SimulationReport& report) {
  return JsonReport([&](Writer& out) { WriteSimulation(out, report); });
}

}  // namespace sharewell::report
