#include "report/chart/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "report/chart/svg_canvas.h"
#include "report/text/csv.h"

namespace sharewell::report {
namespace {

constexpr double kPlotWidth = 560, kPlotHeight = 360, kPlotLeft = 76, kBelow = 56, kEdgeRoom = 20;
constexpr double kLegendLine = 26, kLegendRow = 20;
// Characters of a name in the legend, and what one takes on average.
constexpr std::size_t kLongestName = 44;
constexpr double kLetter = 6.4;

constexpr std::size_t kMostMarks = 40;  // of a line with more points, marks would hide it

// After nine colours the dashes change.
constexpr std::array<std::string_view, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};

std::string Stroke(std::size_t line) {
  const auto dash = kDashes[line / kChartColours % kDashes.size()];
  return dash.empty() ? " stroke-width=\"2\""
                      : fmt::format(" stroke-width=\"2\" stroke-dasharray=\"{}\"", dash);
}

std::string_view ColourOf(std::size_t line) { return ChartColour(line % kChartColours); }

// Whole characters, never half of one.
std::string Shortened(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  std::size_t end = kLongestName - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "…";
}

void DrawAxes(svg::Canvas& canvas, const LineChart& chart, const svg::Scale& x,
              const svg::Scale& y) {
  const auto place = [&](double value) { return chart.doubling ? std::log2(value) : value; };
  AxisMarks marks = MarksOf(chart.x, 6);
  if (!chart.x_ticks.empty()) marks.marks.clear();
  for (const double tick : chart.x_ticks) marks.marks.emplace_back(tick, svg::Tick(tick));
  for (const auto& [tick, text] : marks.marks) {
    const double at = x(place(tick));
    canvas.Line(at, y.to, at, y.from, svg::kGrid);
    canvas.Text(at, y.from + 18, text, svg::Anchor::kMiddle, svg::Canvas::Quiet());
  }
  for (const double tick : Ticks(chart.y.least, chart.y.most, 5)) {
    canvas.Line(x.from, y(tick), x.to, y(tick), svg::kGrid);
    canvas.Text(x.from - 8, y(tick) + 4, svg::Tick(tick), svg::Anchor::kEnd, svg::Canvas::Quiet());
  }
  canvas.Line(x.from, y.from, x.to, y.from, svg::kInk);
  canvas.Line(x.from, y.to, x.from, y.from, svg::kInk);
  canvas.Text((x.from + x.to) / 2, y.from + 42, marks.label, svg::Anchor::kMiddle);
  canvas.Text(18, (y.from + y.to) / 2, chart.y.label, svg::Anchor::kMiddle,
              fmt::format(" transform=\"rotate(-90 18 {})\"", svg::At((y.from + y.to) / 2)));
}

bool IsGap(const ChartLine& line, std::size_t p) {
  return line.gap > 0 && line.points[p].x - line.points[p - 1].x > line.gap;
}

// A line of many points in one element for each stretch without a gap: one for each piece would
// make a page of megabytes.
template <class Place>
void DrawStrokes(svg::Canvas& canvas, const ChartLine& line, std::string_view colour,
                 const std::string& stroke, Place place, const svg::Scale& x, const svg::Scale& y) {
  std::vector<std::pair<double, double>> stretch;
  for (std::size_t p = 0; p < line.points.size(); ++p) {
    if (p > 0 && IsGap(line, p)) {
      canvas.Polyline(stretch, colour, stroke);
      stretch.clear();
    }
    stretch.emplace_back(x(place(line.points[p].x)), y(line.points[p].y));
  }
  canvas.Polyline(stretch, colour, stroke);
}

// "seconds since the start" as a column: "seconds_since_the_start".
std::string ColumnName(std::string_view label, std::string_view otherwise) {
  std::string name;
  for (const char c : label) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (c == '%') {
      name += "percent";
    } else if (c == '/') {
      name += "_per_";
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? std::string(otherwise) : name;
}

}  // namespace

std::string LineChartCsv(const LineChart& chart) {
  CsvText csv("line," + ColumnName(chart.x.label, "x") + "," + ColumnName(chart.y.label, "y"));
  for (const ChartLine& line : chart.lines) {
    for (const LinePoint& point : line.points) {
      csv.Harmless(line.name).Field(point.x).Field(point.y).EndRow();
    }
  }
  return std::move(csv).Take();
}

ChartAxis AxisUpTo(std::string label, double most) {
  if (!(most > 0) || !std::isfinite(most)) return {std::move(label), 0, 1};
  const auto ticks = Ticks(0, most, 5);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : most;
  return {std::move(label), 0, std::ceil(most / step - 1e-9) * step};
}

ChartAxis AxisOver(std::string label, double least, double most) {
  // Numbers that hardly differ, for their size, have no round ones between them.
  const double apart = std::max({std::abs(least) * 1e-6, std::abs(most) * 1e-6, 1e-9});
  if (most - least < apart) {
    least -= apart;
    most += apart;
  }
  const auto ticks = Ticks(least, most, 5);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : most - least;
  return {std::move(label), std::floor(least / step + 1e-9) * step,
          std::ceil(most / step - 1e-9) * step};
}

std::string LineChartSvg(const LineChart& chart) {
  std::size_t longest = chart.mark_name.size();
  for (const ChartLine& line : chart.lines) longest = std::max(longest, line.name.size());
  const double legend =
      kLegendLine + 18 + kLetter * static_cast<double>(std::min(longest, kLongestName));
  const double rows = static_cast<double>(chart.lines.size() + (chart.mark_name.empty() ? 0 : 1));
  const double right = kPlotLeft + kPlotWidth, bottom = svg::kHeading + kPlotHeight;
  const double height = std::max(bottom + kBelow, svg::kHeading + rows * kLegendRow + kEdgeRoom);
  svg::Canvas canvas(right + kEdgeRoom + legend, height);
  canvas.Heading(kPlotLeft, chart.title, chart.subtitle);
  const auto place = [&](double value) {
    // Points beyond the axes are drawn at the edge; below 0 there is no logarithm.
    return chart.doubling ? std::log2(std::max(value, chart.x.least)) : value;
  };
  const svg::Scale x{place(chart.x.least), place(chart.x.most), kPlotLeft, right};
  const svg::Scale y{chart.y.least, chart.y.most, bottom, svg::kHeading};
  DrawAxes(canvas, chart, x, y);
  double at = svg::kHeading + 10;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    const auto colour = ColourOf(i);
    const bool marks = line.points.size() <= kMostMarks;
    if (!marks) DrawStrokes(canvas, line, colour, Stroke(i), place, x, y);
    for (std::size_t p = 1; marks && p < line.points.size(); ++p) {
      if (IsGap(line, p)) continue;
      const LinePoint &from = line.points[p - 1], &to = line.points[p];
      canvas.Line(x(place(from.x)), y(from.y), x(place(to.x)), y(to.y), colour, Stroke(i));
    }
    for (const LinePoint& point : line.points) {
      const double px = x(place(point.x));
      if (point.error > 0) {
        canvas.Line(px, y(point.y - point.error), px, y(point.y + point.error), colour);
      }
      if (marks) canvas.Circle(px, y(point.y), colour, point.title);
      if (line.marked == point.x) canvas.Ring(px, y(point.y), colour);
    }
    canvas.Line(right + kEdgeRoom, at, right + kEdgeRoom + kLegendLine, at, colour, Stroke(i));
    canvas.Text(right + kEdgeRoom + kLegendLine + 8, at + 4, Shortened(line.name));
    at += kLegendRow;
  }
  if (!chart.mark_name.empty()) {
    canvas.Ring(right + kEdgeRoom + kLegendLine / 2, at, svg::kInk);
    canvas.Text(right + kEdgeRoom + kLegendLine + 8, at + 4, chart.mark_name);
  }
  return std::move(canvas).Take();
}

}  // namespace sharewell::report
