// Spans of time in rows, as SVG: which job was on which GPU, or the life of one job. Spans that
// overlap in a row share its height, so that co-location is seen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/chart/svg.h"

namespace sharewell::report {

struct GanttSpan {
  double from = 0, to = 0;
  std::size_t colour = 0;
  std::string name;   // in the CSV
  std::string title;  // shown where the pointer rests
};

struct GanttRow {
  std::string name;
  std::vector<GanttSpan> spans;
};

struct Gantt {
  std::string title, subtitle;
  ChartAxis time;
  std::vector<GanttRow> rows;  // top to bottom
  std::vector<ChartKey> keys;
};
std::string GanttSvg(const Gantt& gantt);

// One row a span: row, name, from, to.
std::string GanttCsv(const Gantt& gantt);

}  // namespace sharewell::report
