#include "report/chart/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/chart/svg_canvas.h"
#include "report/measure/series.h"
#include "report/text/csv.h"

namespace sharewell::report {
namespace {

constexpr std::array<std::string_view, kChartColours + 1> kColours = {
    "#332288", "#88ccee", "#44aa99", "#117733", "#999933",
    "#ddcc77", "#cc6677", "#882255", "#aa4499", "#a0a0a0"};

constexpr double kChartDay = 86400e3;  // milliseconds
constexpr std::array<double, 7> kDateSteps = {kChartDay / 4, kChartDay / 2, kChartDay,
                                              2 * kChartDay, 7 * kChartDay, 14 * kChartDay,
                                              28 * kChartDay};

}  // namespace

std::string_view ChartColour(std::size_t i) { return kColours[std::min(i, kChartColours)]; }

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::vector<double> Ticks(double least, double most, int wanted) {
  const double rough = (most - least) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<double> out;
  // Whole multiples, so that no sum of roundings drifts; the slack keeps the last one.
  const auto first = static_cast<long long>(std::ceil(least / step - 1e-9));
  const auto last = static_cast<long long>(std::floor(most / step + 1e-9));
  for (long long i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

AxisMarks MarksOf(const ChartAxis& axis, int wanted) {
  AxisMarks out;
  out.label = axis.label;
  const double span = (axis.most - axis.least) * axis.unit_millis;
  if (span <= kChartDay || axis.begins <= 0) {
    for (const double tick : Ticks(axis.least, axis.most, wanted)) {
      out.marks.emplace_back(tick, svg::Tick(tick));
    }
    return out;
  }
  out.label = "UTC";
  double step = kDateSteps.back();
  for (const double one : kDateSteps) {
    if (span / one > wanted) continue;
    step = one;
    break;
  }
  while (span / step > wanted) step *= 2;
  // Whole days begin at midnight, and half ones at noon.
  const double from = static_cast<double>(axis.begins) + axis.least * axis.unit_millis;
  const double midnight = std::ceil(from / std::min(step, kChartDay)) * std::min(step, kChartDay);
  for (double at = midnight; at <= from + span; at += step) {
    const std::string text = UtcTime(static_cast<core::UnixMillis>(at));  // 2026-11-15 08:00:00
    out.marks.emplace_back((at - static_cast<double>(axis.begins)) / axis.unit_millis,
                           std::fmod(at, kChartDay) == 0 ? text.substr(0, 10) : text.substr(11, 5));
  }
  return out;
}

std::string ScatterSvg(const Scatter& scatter) {
  constexpr double kSide = 520, kLeft = 64, kBottom = 56, kLegend = 170, kEdge = 20;
  const double right = kLeft + kSide;
  const double bottom = svg::kHeading + kSide;
  const double width = right + kEdge + (scatter.keys.empty() ? 0 : kLegend);
  svg::Canvas canvas(width, bottom + kBottom);
  canvas.Heading(kLeft, scatter.title, scatter.subtitle);
  const svg::Scale x{scatter.x.least, scatter.x.most, kLeft, right};
  const svg::Scale y{scatter.y.least, scatter.y.most, bottom, svg::kHeading};
  for (const double tick : Ticks(scatter.x.least, scatter.x.most, 5)) {
    canvas.Line(x(tick), svg::kHeading, x(tick), bottom, svg::kGrid);
    canvas.Text(x(tick), bottom + 18, svg::Tick(tick), svg::Anchor::kMiddle, svg::Canvas::Quiet());
  }
  for (const double tick : Ticks(scatter.y.least, scatter.y.most, 5)) {
    canvas.Line(kLeft, y(tick), right, y(tick), svg::kGrid);
    canvas.Text(kLeft - 8, y(tick) + 4, svg::Tick(tick), svg::Anchor::kEnd, svg::Canvas::Quiet());
  }
  if (scatter.diagonal) {
    const double from = std::max(scatter.x.least, scatter.y.least);
    const double to = std::min(scatter.x.most, scatter.y.most);
    canvas.Line(x(from), y(from), x(to), y(to), svg::kQuiet, " stroke-dasharray=\"5 4\"");
  }
  canvas.Line(kLeft, bottom, right, bottom, svg::kInk);
  canvas.Line(kLeft, svg::kHeading, kLeft, bottom, svg::kInk);
  canvas.Text((kLeft + right) / 2, bottom + 42, scatter.x.label, svg::Anchor::kMiddle);
  canvas.Text(
      18, (svg::kHeading + bottom) / 2, scatter.y.label, svg::Anchor::kMiddle,
      fmt::format(" transform=\"rotate(-90 18 {})\"", svg::At((svg::kHeading + bottom) / 2)));
  for (const ChartPoint& point : scatter.points) {
    canvas.Circle(x(point.x), y(point.y), ChartColour(point.colour), point.title);
  }
  double at = svg::kHeading + 10;
  for (const ChartKey& key : scatter.keys) {
    canvas.Circle(right + kEdge + 6, at, ChartColour(key.colour), "");
    canvas.Text(right + kEdge + 18, at + 4, key.name);
    at += 20;
  }
  return std::move(canvas).Take();
}

std::string BarsSvg(const Bars& bars) {
  constexpr double kEdge = 20, kLabel = 150, kBar = 150, kShown = 60, kRow = 22, kThick = 14;
  constexpr double kPanel = kLabel + kBar + kShown, kPanelTitle = 26;
  std::size_t most_rows = 0;
  for (const BarPanel& panel : bars.panels) most_rows = std::max(most_rows, panel.bars.size());
  const double top = svg::kHeading + kPanelTitle;
  const auto panels = static_cast<double>(std::max<std::size_t>(1, bars.panels.size()));
  svg::Canvas canvas(2 * kEdge + panels * kPanel,
                     top + static_cast<double>(most_rows) * kRow + kEdge);
  canvas.Heading(kEdge, bars.title, bars.subtitle);
  double left = kEdge;
  for (std::size_t p = 0; p < bars.panels.size(); ++p, left += kPanel) {
    const BarPanel& panel = bars.panels[p];
    canvas.Text(left + kLabel, svg::kHeading + 12, panel.title, svg::Anchor::kStart,
                " font-weight=\"bold\"");
    double longest = 0;
    for (const ChartBar& bar : panel.bars) longest = std::max(longest, bar.value);
    double y = top;
    for (const ChartBar& bar : panel.bars) {
      const double length = longest > 0 ? kBar * std::max(0.0, bar.value) / longest : 0;
      canvas.Text(left + kLabel - 8, y + kThick - 3, bar.label, svg::Anchor::kEnd);
      canvas.Box(left + kLabel, y, length, kThick, ChartColour(p * 2));
      canvas.Text(left + kLabel + length + 6, y + kThick - 3, bar.shown, svg::Anchor::kStart,
                  svg::Canvas::Quiet());
      y += kRow;
    }
    canvas.Line(left + kLabel, top - 4, left + kLabel, y - kRow + kThick + 4, svg::kInk);
  }
  return std::move(canvas).Take();
}

std::string BarsCsv(const Bars& bars) {
  CsvText csv("panel,label,value");
  for (const BarPanel& panel : bars.panels) {
    for (const ChartBar& bar : panel.bars) {
      csv.Field(panel.title).Harmless(bar.label).Field(bar.value).EndRow();
    }
  }
  return std::move(csv).Take();
}

}  // namespace sharewell::report
