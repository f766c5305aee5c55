// A sweep's curves as charts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "report/chart/line_chart.h"
#include "report/measure/grid/sweep.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using measure::SweepLine;
using measure::SweepPlot;
using measure::SweepPoint;
using measure::SweepResult;

// More could not be told apart.
constexpr std::size_t kMostLines = 36;

std::string AxisLabel(const std::string& axis) {
  if (axis == "cpus") return "CPU cores";
  if (axis == "threads") return "CPU threads";
  if (axis == "workers") return "loader workers";
  if (axis == "batch") return "batch size";
  if (axis == "gpus") return "GPUs";
  return axis;
}

// From the least to the most of the places; doublings evenly apart where they span so much that
// the first ones would stand on each other.
void SetX(LineChart& chart, const SweepPlot& plot) {
  std::set<double> places;
  for (const SweepLine& line : plot.lines) {
    for (const SweepPoint& point : line.points) places.insert(point.x);
  }
  const double least = *places.begin(), most = *places.rbegin();
  chart.x = {AxisLabel(plot.axis), least, most};
  if (places.size() <= 12) chart.x_ticks.assign(places.begin(), places.end());
  chart.doubling = least > 0 && most / least >= 8;
}

// One figure of every line. Absent: no point has it.
template <class Figure>
std::optional<LineChart> ChartOf(const SweepResult& result, const SweepPlot& plot,
                                 const std::string& what, const std::string& unit, bool knees,
                                 Figure figure) {
  LineChart chart;
  SetX(chart, plot);
  double most = 0;
  bool any = false;
  for (std::size_t i = 0; i < std::min(plot.lines.size(), kMostLines); ++i) {
    const SweepLine& line = plot.lines[i];
    ChartLine drawn{line.name, {}, {}};
    if (knees && line.knee) drawn.marked = line.knee->at;
    for (const SweepPoint& point : line.points) {
      const std::optional<double> y = figure(point);
      if (!y) continue;
      any = true;
      const double error = knees ? *y * point.uncertainty.value_or(0) : 0;
      most = std::max(most, *y + error);
      drawn.points.push_back(
          {point.x, *y, error,
           fmt::format("{}, {} {}: {:.4g} {}", line.name, plot.axis, point.x, *y, unit)});
    }
    if (drawn.marked) chart.mark_name = "knee";
    chart.lines.push_back(std::move(drawn));
  }
  if (!any) return std::nullopt;
  const std::string where = result.gpu.empty() ? "no GPU" : result.gpu;
  chart.title = fmt::format("{}: {} against {}", result.name, what, AxisLabel(plot.axis));
  chart.subtitle = plot.configuration.empty() ? where : plot.configuration + ", " + where;
  if (knees && !chart.mark_name.empty()) {
    chart.subtitle +=
        fmt::format("; knee: the fewest that keep {} of the best", Percent(measure::kKneeKeeps));
  }
  if (plot.lines.size() > kMostLines) {
    chart.subtitle += fmt::format("; the first {} of {} lines", kMostLines, plot.lines.size());
  }
  chart.y = AxisUpTo(unit == "%" ? what + ", %" : unit, unit == "%" ? std::max(most, 100.0) : most);
  return chart;
}

// Each line in shares of its own best, so that a small model stands beside a large one.
SweepPlot Relative(SweepPlot plot) {
  for (SweepLine& line : plot.lines) {
    double best = 0;
    for (const SweepPoint& point : line.points) best = std::max(best, point.throughput.value_or(0));
    for (SweepPoint& point : line.points) {
      if (point.throughput && best > 0) *point.throughput *= 100 / best;
    }
  }
  return plot;
}

std::optional<double> Hundredfold(const std::optional<core::Ratio>& share) {
  return share ? std::optional(*share * 100) : std::nullopt;
}

}  // namespace

std::vector<NamedSvg> SweepCharts(const SweepResult& result) {
  std::vector<NamedSvg> out;
  for (const NamedLineChart& chart : SweepLineCharts(result)) {
    out.push_back({chart.name + ".svg", LineChartSvg(chart.chart)});
  }
  return out;
}

std::vector<NamedLineChart> SweepLineCharts(const SweepResult& result) {
  std::vector<NamedLineChart> out;
  const auto add = [&](const std::string& name, std::optional<LineChart> chart) {
    if (chart) out.push_back({name, std::move(*chart)});
  };
  const std::string unit =
      result.unit == measure::ThroughputUnit::kSamples ? "samples/s" : "steps/s";
  for (const SweepPlot& plot : result.plots) {
    add("throughput-" + plot.axis,
        ChartOf(result, plot, "throughput", unit, true,
                [](const SweepPoint& point) { return point.throughput; }));
    if (plot.lines.size() > 1) {
      add("relative-" + plot.axis,
          ChartOf(result, Relative(plot), "throughput over each one's best", "%", true,
                  [](const SweepPoint& point) { return point.throughput; }));
    }
    add("gpu-busy-" + plot.axis,
        ChartOf(result, plot, "GPU busy", "%", false,
                [](const SweepPoint& point) { return Hundredfold(point.busy); }));
    add("gpu-sm-" + plot.axis,
        ChartOf(result, plot, "SM activity", "%", false,
                [](const SweepPoint& point) { return Hundredfold(point.sm); }));
    add("cpu-" + plot.axis,
        ChartOf(result, plot, "CPU use of the cores it has", "%", false,
                [](const SweepPoint& point) { return Hundredfold(point.cpu); }));
  }
  return out;
}

}  // namespace sharewell::report
