#include "report/measure/grid/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/args/out_folder.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/grid_run.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "measure/grid/sweep.h"

namespace sharewell::cli {
namespace {

// What would be run, a line a cell.
std::string Listed(const measure::SweepSpec& spec) {
  std::string text;
  const auto grid = measure::GridOf(spec);
  for (const measure::GridPoint& point : grid) {
    const measure::GridCell cell = measure::CellAt(spec, point);
    text += fmt::format("{}: {}\n", cell.label, fmt::join(cell.command, " "));
  }
  return text + fmt::format("{} cells\n", grid.size());
}

class SweepCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override { run_.AddFlags(app); }

  core::Result<ExitCode> Run() override {
    const auto spec = measure::ReadSweepSpec(run_.spec());
    RETURN_IF_ERROR(spec);
    if (run_.dry_run()) return run_.Finish(Listed(*spec), false, false);
    RETURN_IF_ERROR(run_.Prepare(spec->name, "sweep"));
    const auto result = measure::Sweep(*spec, run_.options());
    RETURN_IF_ERROR(result);
    std::vector<OutFile> files = {{"cells.csv", report::SweepCellsCsv(*result)}};
    if (auto profiles = report::ProfilesCsv(result->profiles); !profiles.empty()) {
      files.push_back({"profiles.csv", std::move(profiles)});
    }
    for (report::NamedSvg& chart : report::SweepCharts(*result)) {
      files.push_back({std::move(chart.name), std::move(chart.svg)});
    }
    RETURN_IF_ERROR(WriteFiles(run_.folder(), files));
    if (result->interrupted) run_.TellHowToResume("sweep");
    const std::string text = run_.json() ? report::SweepJson(*result) : Text(*result, files);
    return run_.Finish(text, result->interrupted, result->Count(measure::CellState::kFailed) > 0);
  }

 private:
  std::string Text(const measure::SweepResult& result, const std::vector<OutFile>& files) const {
    std::string text = report::SweepTable(result);
    text += fmt::format("\nwritten to {}:", run_.folder());
    for (const OutFile& file : files) text += " " + file.name;
    return text + "\n";
  }

  GridRun run_;
};

}  // namespace

std::unique_ptr<Command> NewSweepCommand() { return std::make_unique<SweepCommand>(); }

}  // namespace sharewell::cli
