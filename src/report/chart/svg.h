// Charts as SVG text: points, bars, axes, titles. For reports that people open in a browser; the
// same data gives the same bytes. Any text may hold anything: it is escaped here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metric.h"

namespace sharewell::report {

// Nine colours that are told apart by colour-blind people too (after Paul Tol's muted scheme), and
// a grey for the rest.
inline constexpr std::size_t kChartColours = 9;
std::string_view ChartColour(std::size_t i);  // from kChartColours on: the grey

struct ChartPoint {
  double x = 0, y = 0;
  std::size_t colour = 0;
  std::string title;  // shown where the pointer rests
};

struct ChartAxis {
  std::string label;
  double least = 0, most = 1;  // points beyond are drawn at the edge; REQUIRES least < most
  // Of an axis of time: when 0 is, and how many milliseconds 1 is. 0: it is none.
  core::UnixMillis begins = 0;
  double unit_millis = 0;
};

struct ChartKey {
  std::string name;
  std::size_t colour = 0;
};

struct Scatter {
  std::string title, subtitle;
  ChartAxis x, y;
  bool diagonal = false;  // a line where x equals y
  std::vector<ChartPoint> points;
  std::vector<ChartKey> keys;
};
std::string ScatterSvg(const Scatter& scatter);

struct ChartBar {
  std::string label;
  double value = 0;   // 0 or more
  std::string shown;  // beside the bar
};

struct BarPanel {
  std::string title;
  std::vector<ChartBar> bars;  // top to bottom
};

// Panels side by side, each with a scale of its own.
struct Bars {
  std::string title, subtitle;
  std::vector<BarPanel> panels;
};
std::string BarsSvg(const Bars& bars);
// One row a bar: panel, label, value.
std::string BarsCsv(const Bars& bars);

// Round numbers from `least` to `most`, about as many as wanted: steps of 1, 2 or 5 times a power
// of ten. REQUIRES least < most and wanted above 0.
std::vector<double> Ticks(double least, double most, int wanted);

// What an axis is marked with: round numbers, or dates where it is one of time and longer than a
// day; and what it is then called.
struct AxisMarks {
  std::vector<std::pair<double, std::string>> marks;
  std::string label;
};
AxisMarks MarksOf(const ChartAxis& axis, int wanted);

// For text and attributes: & < > " ' and controls, which XML forbids, are replaced.
std::string Escaped(std::string_view text);

}  // namespace sharewell::report
