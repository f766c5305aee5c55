#include "report/measure/grid/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text/words.h"
#include "report/measure/grid/sweep_columns.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using measure::CellState;
using measure::SweepCell;
using measure::SweepResult;

constexpr std::size_t kMostRows = 500;
constexpr core::Ratio kMostUncertain = 0.05;  // of a rate that a knee may be read from

const char* UnitOf(const SweepResult& result) {
  return result.unit == measure::ThroughputUnit::kSamples ? "samples/s" : "steps/s";
}

// Three digits that count, whatever the size.
std::string ThroughputText(double value) {
  return Number(value, value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4);
}

std::string SizeOr(const std::optional<core::Bytes>& bytes) {
  return bytes ? Size(*bytes) : std::string(kUnknown);
}

std::string AxisText(const SweepCell& cell, const std::string& axis) {
  for (const auto& [name, value] : cell.cell.axes) {
    if (name == axis) return value.text;
  }
  return "";
}

// Axes on which cells differ; the others would be columns of one word.
std::vector<std::string> VaryingAxes(const SweepResult& result) {
  std::vector<std::string> out;
  for (const std::string& axis : result.axes) {
    std::set<std::string> seen;
    for (const SweepCell& cell : result.cells) seen.insert(AxisText(cell, axis));
    if (seen.size() > 1) out.push_back(axis);
  }
  return out;
}

bool SeveralRuns(const SweepResult& result) {
  return std::any_of(result.cells.begin(), result.cells.end(),
                     [](const SweepCell& cell) { return cell.run > 0; });
}

std::vector<std::string> RowOf(const SweepResult& result, const SweepCell& cell,
                               const std::vector<std::string>& axes, bool with_workload) {
  std::vector<std::string> row;
  if (with_workload) row.push_back(cell.cell.workload.name);
  for (const std::string& axis : axes) row.push_back(AxisText(cell, axis));
  if (cell.state == CellState::kDone) {
    const core::Profile& profile = cell.summary.profile;
    row.push_back(Or(measure::ThroughputOf(result, cell.summary), ThroughputText));
    row.push_back(Or(cell.summary.uncertainty, Percent));
    row.push_back(Or(profile.busy, Percent));
    row.push_back(Or(profile.sm, Percent));
    row.push_back(SizeOr(profile.gpu_memory));
    row.push_back(Or(profile.cpu_cores, [](double v) { return Number(v, 2); }));
    row.push_back(SizeOr(profile.host_memory));
    // A window of a given length is what was asked for, settled or not.
    row.push_back(cell.cell.measuring.seconds || cell.summary.settled ? "" : "not settled");
  } else {
    for (int i = 0; i < 7; ++i) row.emplace_back(kUnknown);
    row.push_back(cell.state == CellState::kFailed    ? "failed"
                  : cell.state == CellState::kLeftOut ? "left out"
                                                      : "not run");
  }
  return row;
}

// Each reason once, with how many cells it holds for.
std::string Reasons(const SweepResult& result) {
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const SweepCell& cell : result.cells) {
    if (cell.why.empty()) continue;
    const std::string said = cell.state == CellState::kLeftOut
                                 ? "left out: " + cell.why
                                 : fmt::format("failed: {}: {}", cell.cell.label, cell.why);
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& reason) { return reason.first == said; });
    if (same == reasons.end()) {
      reasons.emplace_back(said, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [reason, times] : reasons) {
    text += times == 1 ? reason + "\n" : fmt::format("{} cells {}\n", times, reason);
  }
  return text;
}

// A knee is where little is lost: rates that are known worse than that show none. Nothing where
// they are known well enough.
std::string KneeDoubt(const SweepResult& result) {
  double worst = 0;
  for (const SweepCell& cell : result.cells) {
    if (cell.state == CellState::kDone)
      worst = std::max(worst, cell.summary.uncertainty.value_or(0));
  }
  if (worst <= kMostUncertain) return {};
  return fmt::format(
      "Do not rely on it: rates above are known to ±{} at worst, and this looks for a loss of {}.\n"
      "Measure again while nothing else uses the machine, or for longer (`seconds` in the file).\n",
      Percent(worst), Percent(1 - measure::kKneeKeeps));
}

std::string KneeText(const SweepResult& result) {
  std::string text;
  for (const measure::SweepPlot& plot : result.plots) {
    if (std::none_of(plot.lines.begin(), plot.lines.end(),
                     [](const measure::SweepLine& line) { return line.knee.has_value(); })) {
      continue;
    }
    Table table({{plot.configuration.empty() ? "" : plot.configuration, Align::kLeft},
                 {fmt::format("{} needed", plot.axis), Align::kRight},
                 {"of the best", Align::kRight},
                 {fmt::format("best {}", UnitOf(result)), Align::kRight}});
    for (const measure::SweepLine& line : plot.lines) {
      double best = 0;
      for (const measure::SweepPoint& point : line.points) {
        best = std::max(best, point.throughput.value_or(0));
      }
      table.Row({line.name, line.knee ? fmt::format("{}", line.knee->at) : kUnknown,
                 line.knee ? Percent(line.knee->share) : kUnknown, ThroughputText(best)});
    }
    text += fmt::format("\nthe fewest {} that keep {} of the best throughput\n{}", plot.axis,
                        Percent(measure::kKneeKeeps), table.Text());
  }
  return text.empty() ? text : text + KneeDoubt(result);
}

}  // namespace

std::string SweepTable(const SweepResult& result) {
  const auto axes = VaryingAxes(result);
  const bool with_workload = SeveralRuns(result);
  std::vector<std::pair<std::string, Align>> columns;
  if (with_workload) columns.emplace_back("workload", Align::kLeft);
  for (const std::string& axis : axes) columns.emplace_back(axis, Align::kLeft);
  for (const char* name :
       {UnitOf(result), "±", "GPU busy", "SM", "GPU memory", "CPU cores", "host memory"}) {
    columns.emplace_back(name, Align::kRight);
  }
  columns.emplace_back("", Align::kLeft);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(result.cells.size(), kMostRows); ++i) {
    rows.push_back(RowOf(result, result.cells[i], axes, with_workload));
  }
  std::string text =
      fmt::format("{} on {}{}: {} done{}{}\n\n{}", result.name,
                  result.gpu.empty() ? "a machine without GPU, " : result.gpu + ", ",
                  core::Cores(static_cast<double>(result.cores)),
                  core::Count(result.Count(CellState::kDone), "cell"),
                  result.Count(CellState::kFailed) > 0
                      ? fmt::format(", {} failed", result.Count(CellState::kFailed))
                      : "",
                  result.Count(CellState::kLeftOut) > 0
                      ? fmt::format(", {} left out", result.Count(CellState::kLeftOut))
                      : "",
                  KnownColumns(columns, rows).Text());
  if (result.cells.size() > kMostRows) {
    text += fmt::format("and {}: see cells.csv\n",
                        core::Count(result.cells.size() - kMostRows, "more cell"));
  }
  text += KneeText(result);
  if (const auto reasons = Reasons(result); !reasons.empty()) text += "\n" + reasons;
  for (const std::string& note : result.notes) text += "\n" + note + "\n";
  return text;
}

}  // namespace sharewell::report
