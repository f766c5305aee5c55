#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/commands/report/report_pages.h"
#include "core/text/quoted.h"
#include "measure/grid/cells_file.h"
#include "platform/files/mapped_file.h"
#include "report/html/simulation_report.h"
#include "report/html/sweep_report.h"
#include "report/simulation/simulation_csv.h"
#include "simulation/results.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

bool IsThere(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !error;
}

// The folder, if `needed` is in it.
Result<std::filesystem::path> FolderWith(const std::string& folder, const char* needed,
                                         const char* kind, const char* writer) {
  const std::filesystem::path path(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return UsageError("report {}: {} is not a folder; give the one that `{}` wrote", kind,
                      core::Quoted(folder), writer);
  }
  if (!IsThere(path / needed)) {
    return UsageError("report {}: {} has no {}; give the folder that `{}` wrote", kind,
                      core::Quoted(folder), needed, writer);
  }
  return path;
}

// Left as it is where the file is not there: an optimum has a summary alone.
template <class Into, class Read>
Result<void> ReadPart(const std::filesystem::path& path, Into& into, Read read) {
  if (!IsThere(path)) return {};
  const auto file = platform::MappedFile::Open(path.string());
  RETURN_IF_ERROR(file);
  auto rows = read(file->text(), path.string());
  RETURN_IF_ERROR(rows);
  into = std::move(*rows);
  return {};
}

}  // namespace

Result<std::string> SimulationFolderPage(const ReportFlags& flags) {
  const auto folder =
      FolderWith(flags.words[0], "summary.json", "simulation", "sharewell simulate --out DIR");
  RETURN_IF_ERROR(folder);
  const std::string summary = (*folder / "summary.json").string();
  const auto file = platform::MappedFile::Open(summary);
  RETURN_IF_ERROR(file);
  auto results = simulation::ReadSimulationSummary(file->text(), summary);
  RETURN_IF_ERROR(results);
  for (simulation::PolicyResult& policy : results->policies) {
    const std::string part = report::FileNamePart(policy.summary.policy);
    RETURN_IF_ERROR(
        ReadPart(*folder / ("jobs-" + part + ".csv"), policy.jobs, simulation::ReadSimulatedJobs));
    RETURN_IF_ERROR(ReadPart(*folder / ("decisions-" + part + ".csv"), policy.decisions,
                             simulation::ReadSimulatedDecisions));
  }
  return report::SimulationPage(*results, flags.made);
}

Result<std::string> SweepFolderPage(const ReportFlags& flags) {
  const auto folder = FolderWith(flags.words[0], "cells.csv", "sweep", "sharewell sweep --out DIR");
  RETURN_IF_ERROR(folder);
  const std::string cells = (*folder / "cells.csv").string();
  const auto file = platform::MappedFile::Open(cells);
  RETURN_IF_ERROR(file);
  auto result = measure::ReadSweepCells(file->text(), cells);
  RETURN_IF_ERROR(result);
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(*folder, error);
  if (!whole.has_filename()) whole = whole.parent_path();  // "results/"
  result->name = whole.filename().string();
  return report::SweepPage(*result, flags.made);
}

}  // namespace sharewell::cli
