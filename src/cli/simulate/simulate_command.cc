#include "cli/simulate/simulate_command.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/args/out_folder.h"
#include "cli/simulate/simulate_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/words.h"
#include "report/simulation/simulation_csv.h"
#include "report/simulation/simulation_json.h"
#include "report/simulation/simulation_table.h"
#include "trace/reader.h"

namespace sharewell::cli {
namespace {

using core::Result;

// What the run came to, for the shell and in a sentence on stderr.
ExitCode Judge(const std::vector<simulation::Summary>& results, bool stopped_early,
               const std::string& seed = "") {
  bool failures = false;
  for (const simulation::Summary& s : results) {
    const std::size_t stuck = stopped_early ? 0 : s.unfinished;
    if (s.failed + s.infeasible + stuck == 0) continue;
    failures = true;
    if (s.infeasible == s.jobs) {
      WriteError(fmt::format("{}{}: no job could run: this cluster cannot hold any of the {}",
                             s.policy, seed, core::Count(s.jobs, "job")));
    } else {
      WriteError(fmt::format("{}{}: of {} {} failed, {} can never run on this cluster{}", s.policy,
                             seed, core::Count(s.jobs, "job"), s.failed, s.infeasible,
                             stuck > 0 ? fmt::format(", {} never ended", stuck) : ""));
    }
  }
  return failures ? kFinishedWithFailures : kOk;
}

std::string TraceFormatNames() {
  std::string names;
  for (const auto& format : trace::TraceFormats()) {
    if (!names.empty()) names += '|';
    names += format.name;
  }
  return names;
}

class SimulateCommand : public Command {
 public:
  SimulateCommand(Comparer compare, std::span<const std::string_view> optima)
      : compare_(compare), optima_(optima) {}

  void AddFlags(CLI::App& app) override {
    SimulateFlags& f = flags_;
    app.add_option("--trace", f.trace, "file of the jobs")->type_name("FILE")->required();
    app.add_option("--cluster", f.cluster,
                   "the machines: a file, or nodes x GPUs x model (64x8xV100)")
        ->type_name("FILE|SPEC")
        ->required();
    app.add_option("--policy", f.policies,
                   optima_.empty() ? "policies to compare (`sharewell policies` lists them)"
                                   : "policies to compare (`sharewell policies` lists them); for a "
                                     "few jobs: optimal is "
                                     "the least makespan without sharing, optimal-shared with it")
        ->type_name(optima_.empty() ? "POLICY,..."
                                    : fmt::format("POLICY|{},...", fmt::join(optima_, "|")))
        ->default_str(kDefaultPolicies)
        ->allow_extra_args(false);
    app.add_option("--format", f.format, "format of the trace, if its contents do not show it")
        ->type_name(TraceFormatNames());
    app.add_option("--profiles", f.profiles,
                   "what workloads need alone, instead of our measurements")
        ->type_name("FILE");
    app.add_option("--interference", f.interference,
                   "pairs measured together (CSV, or Gavel's JSON), instead of ours")
        ->type_name("FILE");
    app.add_option("--mix", f.mix,
                   "what jobs are that name no workload: any that was measured, those of a file "
                   "by their weights, or each keeping its GPU so busy")
        ->type_name("catalogue|busy:X|FILE")
        ->capture_default_str();
    app.add_option("--gpu-catalogue", f.gpu_catalogue, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_option("--projects", f.projects,
                   "projects with shares of the GPUs, as in a server's sharewell.toml")
        ->type_name("FILE");
    app.add_option("--belief", f.belief,
                   "how well a policy knows what jobs need: exact, with errors, or as predicted")
        ->type_name("exact|noisy:S|predicted")
        ->capture_default_str();
    app.add_option("--trained", f.trained,
                   "with --belief predicted: by a model of your own, made by `sharewell-lab train`")
        ->type_name("FILE");
    app.add_option("--durations", f.durations, "how well a policy knows how long jobs take")
        ->type_name("exact|noisy:S|unknown")
        ->capture_default_str();
    app.add_option("--known", f.known,
                   "the part of the jobs (0 to 1) that is known at submission; the others tell at "
                   "their second step what they are")
        ->type_name("PART");
    app.add_option("--unknown", f.unknown,
                   "what a job is of which nothing is known yet: a guest beside others, or alone")
        ->type_name("guest|alone")
        ->capture_default_str();
    app.add_option("--max-slowdown", f.max_slowdown, "maximum slowdown by neighbours")
        ->type_name("X")
        ->capture_default_str();
    app.add_option("--patience", f.patience,
                   "match: how long a job waits for the GPU model that suits it, in its durations")
        ->type_name("X|forever")
        ->capture_default_str();
    app.add_option("--guard", f.guard,
                   "evict a job where a co-location breaks a bound, as a server does")
        ->type_name("on|off")
        ->capture_default_str();
    app.add_flag("--score-starts", f.score_starts,
                 "also show how good the expected starts would have been that jobs are told when "
                 "they are submitted")
        ->disable_flag_override();
    app.add_option("--restart-cost", f.restart_cost,
                   "time lost by a job that is moved or preempted")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_flag("--pause", f.pause, "preempting orders pause jobs instead of stopping them")
        ->disable_flag_override();
    app.add_option("--work-scale", f.work_scale, "factor by which every job's work grows")
        ->type_name("X")
        ->capture_default_str();
    app.add_option("--seed", f.seed, "random seed; the same seed gives the same results")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--seeds", f.seeds,
                   "run with so many seeds, from --seed on, and show means and spreads")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--until", f.until,
                   "stop at this time of the trace: seconds, or 90s, 15m, 12h, 3d")
        ->type_name("TIME");
    app.add_option("--out", f.out, "also write each job's result and each decision as CSV into DIR")
        ->type_name("DIR");
    app.add_flag("--json", f.json, "print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    if (flags_.policies.empty()) flags_.policies = {kDefaultPolicies};
    auto request = Parse(flags_, optima_);
    RETURN_IF_ERROR(request);
    if (flags_.out) {
      RETURN_IF_ERROR(CheckOutFolder(*flags_.out));
    }
    const auto inputs = ReadInputs(flags_);
    RETURN_IF_ERROR(inputs);
    std::vector<OutFile> files;
    report::SimulationReport report;
    for (std::uint64_t i = 0; i < request->seeds; ++i) {
      RETURN_IF_ERROR(RunSeed(*inputs, WithSeed(*request, request->seed + i), files, report));
    }
    if (request->seeds == 1) report.seeds.clear();
    const std::string json = report::SimulationJson(report);
    if (flags_.out) {
      files.push_back({"summary.json", json});
      RETURN_IF_ERROR(WriteFiles(*flags_.out, files));
    }
    RETURN_IF_ERROR(flags_.json ? WriteOut(json)
                                : WriteText(report::SimulationTable(report, TextWidth())));
    const bool early = request->options.until.has_value();
    if (report.seeds.empty()) return Judge(report.results, early);
    ExitCode code = kOk;
    for (const simulation::SeedResults& seed : report.seeds) {
      if (Judge(seed.results, early, fmt::format(", seed {}", seed.seed)) != kOk) {
        code = kFinishedWithFailures;
      }
    }
    return code;
  }

 private:
  // Files are those of the first seed.
  Result<void> RunSeed(const SimulateInputs& inputs, const SimulateRequest& request,
                       std::vector<OutFile>& files, report::SimulationReport& report) const {
    const auto scenario = ScenarioOf(inputs, flags_, request);
    RETURN_IF_ERROR(scenario);
    std::vector<OutFile> written;
    auto compared = Compare(request, *scenario, written);
    RETURN_IF_ERROR(compared);
    if (report.seeds.empty()) {
      files = std::move(written);
      report = {flags_.trace,      flags_.cluster,   report::InWords(scenario->cluster),
                request.seed,      flags_.belief,    flags_.durations,
                scenario->remarks, compared->results};
      report.told = simulation::InWords(scenario->told);
      report.notes.insert(report.notes.end(), compared->notes.begin(), compared->notes.end());
      if (auto why = simulation::WhyNoEnergy(*scenario); !why.empty()) report.notes.push_back(why);
    }
    report.seeds.push_back({request.seed, std::move(compared->results)});
    return {};
  }

  Result<simulation::Comparison> Compare(const SimulateRequest& request,
                                         const simulation::Scenario& scenario,
                                         std::vector<OutFile>& files) const {
    ProgressBar bar;
    simulation::CompareOptions options{request.options, request.predicted};
    options.trained = flags_.trained;
    options.progress = [&](const std::string& policy, std::size_t done, std::size_t of) {
      bar.Show(policy, done, of);
    };
    if (flags_.out) {
      options.done = [&](const std::string& policy, const simulation::Simulation& simulation) {
        const std::string part = report::FileNamePart(policy);
        files.push_back({"jobs-" + part + ".csv", report::JobsCsv(scenario, simulation)});
        files.push_back({"decisions-" + part + ".csv", report::DecisionsCsv(scenario, simulation)});
      };
    }
    return compare_(scenario, request.policies, std::move(options));
  }

  Comparer compare_;
  std::span<const std::string_view> optima_;
  SimulateFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewSimulate(Comparer compare, std::span<const std::string_view> optima) {
  return std::make_unique<SimulateCommand>(compare, optima);
}

}  // namespace sharewell::cli
