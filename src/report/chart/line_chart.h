// Lines over one axis as SVG, each with a mark of its own (a knee). The same data gives the same
// bytes; told apart by colour and by dashes, so that a grey print will do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/chart/svg.h"

namespace sharewell::report {

struct LinePoint {
  double x = 0, y = 0;
  double error = 0;   // half the length of its whisker; 0: none
  std::string title;  // shown where the pointer rests
};

struct ChartLine {
  std::string name;
  // x rising; a line is drawn through them. More than 40 have no marks of their own.
  std::vector<LinePoint> points;
  std::optional<double> marked = {};  // x of the point with a ring around it
  // Points further apart than this are not joined: nothing is known between them. 0: all are.
  double gap = 0;
};

struct LineChart {
  std::string title, subtitle;
  ChartAxis x, y;
  // The places named on the x axis; empty: round numbers. With `doubling` each doubling has the
  // same width: REQUIRES x.least above 0 then.
  std::vector<double> x_ticks;
  bool doubling = false;
  std::vector<ChartLine> lines;
  std::string mark_name;  // in the legend; empty: no line is marked
};
std::string LineChartSvg(const LineChart& chart);

// The points as CSV: one row each, with the name of its line. Empty labels are named x and y.
std::string LineChartCsv(const LineChart& chart);

// An axis from 0 to a round number that is not below `most`.
ChartAxis AxisUpTo(std::string label, double most);
// An axis between round numbers around all from `least` to `most`, wherever 0 is.
ChartAxis AxisOver(std::string label, double least, double most);

}  // namespace sharewell::report
