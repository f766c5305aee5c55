// The result of a sweep: table, CSV, JSON and charts. Profiles are in the columns that
// docs/formats/profiles.md names, so that train, evaluate and simulate read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/grid/sweep_result.h"
#include "report/chart/line_chart.h"

namespace sharewell::report {

std::string SweepTable(const measure::SweepResult& result);
std::string SweepJson(const measure::SweepResult& result);
std::string SweepCellsCsv(const measure::SweepResult& result);

// Empty when nothing ran on a GPU: the format has a GPU model in every row.
std::string ProfilesCsv(const std::vector<measure::RunSummary>& profiles);

struct NamedSvg {
  std::string name;  // "throughput-cpus.svg"
  std::string svg;
};
struct NamedLineChart {
  std::string name;  // "throughput-cpus"
  LineChart chart;
};
// Throughput and each utilisation that is known, against each axis with three numbers or more.
std::vector<NamedLineChart> SweepLineCharts(const measure::SweepResult& result);
// The same, drawn.
std::vector<NamedSvg> SweepCharts(const measure::SweepResult& result);

}  // namespace sharewell::report
