#include "report/measure/grid/colocate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/args/out_folder.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/grid_run.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/words.h"
#include "measure/grid/colocate.h"
#include "platform/files/short_folder.h"
#include "platform/process/mps.h"

namespace sharewell::cli {
namespace {

std::string Listed(const measure::ColocateSpec& spec) {
  std::string text;
  for (const measure::ColocatedWorkload& workload : spec.workloads) {
    text += fmt::format("{} alone: {}\n", workload.name, fmt::join(workload.command, " "));
  }
  for (const auto& set : spec.sets) {
    std::vector<std::string> names;
    for (const std::size_t member : set) names.push_back(spec.workloads[member].name);
    text += fmt::format("{}\n", fmt::join(names, " + "));
  }
  const std::size_t alone = spec.workloads.size() * (spec.again ? 2 : 1);
  return text + fmt::format("{} alone, {}\n", core::Count(alone, "run"),
                            core::Count(spec.sets.size(), "set"));
}

class ColocateCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override { run_.AddFlags(app); }

  core::Result<ExitCode> Run() override {
    const auto spec = measure::ReadColocateSpec(run_.spec());
    RETURN_IF_ERROR(spec);
    if (run_.dry_run()) return run_.Finish(Listed(*spec), false, false);
    RETURN_IF_ERROR(run_.Prepare(spec->name, "colocate"));
    const platform::ShortFolder pipes;
    auto mps = StartMps(*spec, pipes.path());
    RETURN_IF_ERROR(mps);
    measure::ColocateOptions options{run_.options(), *mps != nullptr, {}};
    if (*mps != nullptr) options.mps_environment = (*mps)->ClientEnvironment();
    auto result = measure::Colocate(*spec, options);
    if (*mps != nullptr) {
      if (auto ok = (*mps)->Stop(); !ok) WriteError(ok.error().message);
    }
    RETURN_IF_ERROR(result);
    return Write(*result);
  }

 private:
  // Null: none.
  core::Result<std::unique_ptr<platform::MpsServer>> StartMps(const measure::ColocateSpec& spec,
                                                              const std::string& folder) {
    const auto& gpus = run_.options().gpus;
    const bool can = !gpus.empty() && gpus.front().mps;
    if (spec.mps == measure::UseMps::kOff || (spec.mps == measure::UseMps::kAuto && !can)) {
      return nullptr;
    }
    if (gpus.empty()) {
      return tl::unexpected(
          core::Error{core::ErrorKind::kAbsent,
                      "mps = \"on\" needs an NVIDIA GPU, and none is here; "
                      "`sharewell doctor` says why, and mps = \"auto\" does without"});
    }
    auto server = platform::MpsServer::Start({.folder = folder});
    if (server || spec.mps == measure::UseMps::kOn) return server;
    WriteErr(fmt::format("CUDA MPS did not start, so the jobs are time-sliced: {}\n",
                         server.error().message));
    return nullptr;
  }

  core::Result<ExitCode> Write(const measure::ColocateResult& result) {
    std::vector<OutFile> files;
    for (report::NamedCsv& csv : report::GroupsCsv(result)) {
      files.push_back({std::move(csv.name), std::move(csv.csv)});
    }
    std::vector<measure::RunSummary> profiles;
    bool failures = false;
    for (const measure::AloneRun& alone : result.alone) {
      failures = failures || alone.state == measure::CellState::kFailed;
      if (alone.state == measure::CellState::kDone) profiles.push_back(alone.summary);
    }
    for (const measure::ColocatedSet& group : result.groups) {
      failures = failures || (group.state == measure::CellState::kFailed && group.fits);
    }
    if (auto csv = report::ProfilesCsv(profiles); !csv.empty()) {
      files.push_back({"profiles.csv", std::move(csv)});
    }
    for (report::NamedSvg& chart : report::ColocateCharts(result)) {
      files.push_back({std::move(chart.name), std::move(chart.svg)});
    }
    RETURN_IF_ERROR(WriteFiles(run_.folder(), files));
    if (result.interrupted) run_.TellHowToResume("colocate");
    std::string text = report::ColocateJson(result);
    if (!run_.json()) {
      text = report::ColocateTable(result) + fmt::format("\nwritten to {}:", run_.folder());
      for (const OutFile& file : files) text += " " + file.name;
      text += "\n";
    }
    return run_.Finish(text, result.interrupted, failures);
  }

  GridRun run_;
};

}  // namespace

std::unique_ptr<Command> NewColocateCommand() { return std::make_unique<ColocateCommand>(); }

}  // namespace sharewell::cli
