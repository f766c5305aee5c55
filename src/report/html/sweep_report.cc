#include "report/html/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/html/page.h"
#include "report/measure/grid/sweep.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using measure::CellState;
using measure::SweepCell;
using measure::SweepResult;

constexpr std::size_t kMostCellRows = 1000;

std::string ValueOn(const SweepCell& cell, const std::string& axis) {
  for (const auto& [name, value] : cell.cell.axes) {
    if (name == axis) return value.text;
  }
  return {};
}

// "cpus=4 batch=8"; of a cell without axes its workload.
std::string CellName(const SweepCell& cell) {
  std::string name;
  for (const auto& [axis, value] : cell.cell.axes) {
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", axis, value.text);
  }
  return name.empty() ? cell.cell.workload.name : name;
}

HtmlTable KneeRows(const SweepResult& result) {
  HtmlTable table{{{"axis", Align::kLeft},
                   {"line", Align::kLeft},
                   {"enough", Align::kRight},
                   {"best throughput", Align::kRight}},
                  {}};
  const std::string unit =
      result.unit == measure::ThroughputUnit::kSamples ? "samples/s" : "steps/s";
  for (const measure::SweepPlot& plot : result.plots) {
    for (const measure::SweepLine& line : plot.lines) {
      if (!line.knee) continue;
      double best = 0;
      for (const auto& point : line.points) best = std::max(best, point.throughput.value_or(0));
      table.rows.push_back({plot.axis, line.name, fmt::format("{:g}", line.knee->at),
                            fmt::format("{:.4g} {}", best, unit)});
    }
  }
  return table;
}

// "cpus=4 is fastest, with 123 steps/s; 11 of 12 cells are measured."
void OpenSweep(HtmlPage& page, const SweepResult& result) {
  const std::string unit =
      result.unit == measure::ThroughputUnit::kSamples ? "samples/s" : "steps/s";
  const SweepCell* best = nullptr;
  std::optional<double> most;
  for (const SweepCell& cell : result.cells) {
    if (cell.state != CellState::kDone) continue;
    const auto rate = measure::ThroughputOf(result, cell.summary);
    if (!rate || (most && *rate <= *most)) continue;
    most = rate;
    best = &cell;
  }
  const std::size_t done = result.Count(CellState::kDone);
  const std::string measured =
      fmt::format("{} of {} measured", done, core::Count(result.cells.size(), "cell"));
  page.Opens(best != nullptr ? fmt::format("{} is fastest, with {:.4g} {}; {}.", CellName(*best),
                                           *most, unit, measured)
                             : fmt::format("No cell told its speed; {}.", measured),
             {{Or(most, [](double rate) { return fmt::format("{:.4g}", rate); }), "best, " + unit},
              {fmt::format("{}", done), "cells measured"},
              {fmt::format("{}", result.Count(CellState::kFailed)), "cells failed"}});
}

HtmlTable CellRows(const SweepResult& result) {
  HtmlTable table;
  for (const std::string& axis : result.axes) table.columns.emplace_back(axis, Align::kLeft);
  table.columns.insert(table.columns.end(), {{"workload", Align::kLeft},
                                             {"steps/s", Align::kRight},
                                             {"GPU busy", Align::kRight},
                                             {"SM", Align::kRight},
                                             {"GPU memory", Align::kRight},
                                             {"cores used", Align::kRight},
                                             {"power", Align::kRight},
                                             {"", Align::kLeft}});
  for (const SweepCell& cell : result.cells) {
    std::vector<std::string> row;
    for (const std::string& axis : result.axes) row.push_back(ValueOn(cell, axis));
    const core::Profile& p = cell.summary.profile;
    row.push_back(cell.cell.workload.name);
    row.push_back(Or(p.steps_per_second, [](double v) { return fmt::format("{:.4g}", v); }));
    row.push_back(Or(p.busy, Percent));
    row.push_back(Or(p.sm, Percent));
    row.push_back(p.gpu_memory ? Size(*p.gpu_memory) : kUnknown);
    row.push_back(Or(p.cpu_cores, [](double v) { return Number(v, 2); }));
    row.push_back(p.power ? fmt::format("{:.0f} W", p.power->value) : kUnknown);
    row.push_back(cell.state == CellState::kDone      ? std::string()
                  : cell.state == CellState::kFailed  ? "failed"
                  : cell.state == CellState::kLeftOut ? "left out"
                                                      : "not run");
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> FailuresOf(const SweepResult& result) {
  std::vector<std::string> lines;
  for (const SweepCell& cell : result.cells) {
    if (cell.why.empty()) continue;
    lines.push_back(fmt::format("{}: {}", CellName(cell), cell.why));
  }
  return lines;
}

}  // namespace

std::string SweepPage(const SweepResult& result, std::string_view made) {
  HtmlPage page("Sweep " + result.name,
                fmt::format("{} on {}", core::Count(result.cells.size(), "cell"),
                            result.gpu.empty() ? "a machine without a GPU" : result.gpu),
                made);
  OpenSweep(page, result);
  page.Section("What each one gains");
  page.Facts({{"finished", fmt::format("{}", result.Count(CellState::kDone))},
              {"failed", fmt::format("{}", result.Count(CellState::kFailed))},
              {"left out", fmt::format("{}", result.Count(CellState::kLeftOut))},
              {"not run", fmt::format("{}", result.Count(CellState::kWaiting))}});
  const HtmlTable knees = KneeRows(result);
  if (!knees.rows.empty()) {
    page.Text(fmt::format("Enough is the fewest that keep {} of the best throughput.",
                          Percent(measure::kKneeKeeps)));
    page.Rows(knees);
  }
  const auto charts = SweepLineCharts(result);
  page.Section("Curves");
  for (const NamedLineChart& chart : charts) {
    page.Chart(chart.name, chart.chart.title + ".", chart.chart);
  }
  if (charts.empty()) page.Quiet("None: no axis has three numbers with finished cells.");
  page.Section("Cells");
  page.Rows(CellRows(result), kMostCellRows);
  if (const auto failures = FailuresOf(result); !failures.empty()) {
    page.Section("What did not run, and why");
    page.Listed(failures);
  }
  if (!result.notes.empty()) {
    page.Section("Notes");
    page.Listed(result.notes);
  }
  return std::move(page).Take();
}

}  // namespace sharewell::report
