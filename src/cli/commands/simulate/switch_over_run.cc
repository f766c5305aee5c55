#include "cli/commands/simulate/switch_over_run.h"

#include <algorithm>
#include <utility>

#include "cli/terminal.h"
#include "report/simulation/simulation_table.h"

namespace sharewell::cli {

ExitCode SwitchOverRun::ExitCodeOf() const {
  const bool all = std::all_of(report.results.begin(), report.results.end(),
                               [](const simulation::Summary& s) { return s.finished == s.jobs; });
  return all ? kOk : kFinishedWithFailures;
}

core::Result<SwitchOverRun> RunSwitchOver(const SimulateFlags& flags) {
  auto request = Parse(flags);
  RETURN_IF_ERROR(request);
  const auto scenario = ReadScenario(flags, *request);
  RETURN_IF_ERROR(scenario);
  ProgressBar bar;
  simulation::CompareOptions options{request->options, request->predicted};
  options.progress = [&](const std::string& policy, std::size_t done, std::size_t of) {
    bar.Show(policy, done, of);
  };
  auto result = simulation::SwitchOver(*scenario, request->policies, std::move(options));
  RETURN_IF_ERROR(result);
  bar.Clear();
  report::SimulationReport report{flags.trace,
                                  flags.cluster,
                                  report::InWords(scenario->cluster),
                                  request->seed,
                                  flags.belief,
                                  flags.durations,
                                  scenario->remarks,
                                  result->compared.results};
  report.told = simulation::InWords(scenario->told);
  report.notes.insert(report.notes.end(), result->compared.notes.begin(),
                      result->compared.notes.end());
  return SwitchOverRun{std::move(report), *std::move(result)};
}

}  // namespace sharewell::cli
