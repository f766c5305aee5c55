#include "report/simulation/simulation_csv.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "core/sm_share.h"
#include "report/text/csv.h"

namespace sharewell::report {
namespace {

using End = sim::JobOutcome::End;

std::string_view InWords(End end) {
  switch (end) {
    case End::kUnfinished:
      return "unfinished";
    case End::kFinished:
      return "finished";
    case End::kFailed:
      return "failed";
    case End::kInfeasible:
      return "infeasible";
  }
  return "";
}

std::string Place(const core::Cluster& cluster, const core::Allocation& where) {
  std::string text;
  for (const core::GpuId gpu : where.gpus) {
    const core::Node& node = cluster.node(cluster.NodeOf(gpu));
    if (!text.empty()) text += ' ';
    fmt::format_to(std::back_inserter(text), "{}:{}", node.name, gpu.value - node.first_gpu.value);
  }
  if (where.gpus.empty() && where.node.valid()) text = cluster.node(where.node).name;
  return text;
}

}  // namespace

std::string JobsCsv(const simulation::Scenario& scenario,
                    const simulation::Simulation& simulation) {
  CsvText csv(
      "id,user,workload,gpus,submit_seconds,first_start_seconds,finish_seconds,end,run_seconds,"
      "queue_seconds,jct_seconds,slowdown,ooms,moves,gpu_model");
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    const sim::JobOutcome& outcome = simulation.outcomes[j];
    const double submit = job.submit.value;
    const bool finished = outcome.end == End::kFinished;
    const bool ended = finished || outcome.end == End::kFailed;
    const auto when = [](bool known, double value) {
      return known ? std::optional(value) : std::nullopt;
    };
    const bool started = outcome.first_start.has_value();
    const double start = started ? outcome.first_start->value : 0;
    csv.Field(job.name)
        .Field(scenario.users[job.user.index()])
        .Field(job.workload.valid() ? scenario.workloads[job.workload.index()].name : "")
        .Field(static_cast<double>(job.gpus))
        .Field(submit)
        .Field(when(started, start))
        .Field(when(ended, outcome.finish.value))
        .Field(InWords(outcome.end))
        .Field(when(started, outcome.run_time.value))
        .Field(when(started, start - submit))
        .Field(when(finished, outcome.finish.value - submit))
        .Field(when(finished && outcome.undisturbed.value > 0,
                    (outcome.run_time - outcome.restarting) / outcome.undisturbed))
        .Field(static_cast<double>(outcome.ooms))
        .Field(static_cast<double>(outcome.moves))
        .Field(outcome.last_model.valid() ? scenario.cluster.model(outcome.last_model).name : "")
        .EndRow();
  }
  return std::move(csv).Take();
}

std::string DecisionsCsv(const simulation::Scenario& scenario,
                         const simulation::Simulation& simulation) {
  CsvText csv("time_seconds,job,what,gpus,cores,sm_share,beside,reason");
  for (const simulation::DecisionRow& row : simulation.decisions) {
    const core::JobId named = core::OtherJob(row.reason);
    const std::string other = named.valid() ? scenario.jobs[named.index()].name : std::string();
    // On an idle GPU it is whom its share leaves room for.
    const bool alone = std::holds_alternative<core::reason::IdleGpu>(row.reason) ||
                       std::holds_alternative<core::reason::Tail>(row.reason);
    const std::string beside = alone ? "" : other;
    const std::string_view what = row.what;
    const bool starts = what == "start" || what == "move";
    const bool has_cores = starts || what == "resize";
    std::string reason = core::InWords(row.reason, beside);
    const bool insisted = scenario.jobs[row.job.index()].sm_share.has_value();
    const std::string share = core::ShareInWords(row.where.sm_share, insisted, other);
    if (!share.empty()) reason += "; " + share;
    csv.Field(row.time.value)
        .Field(scenario.jobs[row.job.index()].name)
        .Field(what)
        .Field(Place(scenario.cluster, row.where))
        .Field(has_cores ? std::optional(row.where.cores) : std::nullopt)
        .Field(starts ? std::optional(row.where.sm_share) : std::nullopt)
        .Field(beside)
        .Field(reason)
        .EndRow();
  }
  return std::move(csv).Take();
}

std::string FileNamePart(const std::string& policy) {
  std::string name = policy;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (!plain) c = c == '+' ? '-' : '_';
  }
  return name.empty() ? "_" : name;
}

}  // namespace sharewell::report
