#include "report/chart/gantt.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "report/chart/svg_canvas.h"
#include "report/text/csv.h"

namespace sharewell::report {
namespace {

constexpr double kGanttLeft = 150, kGanttWidth = 620, kGanttEdge = 20, kGanttLegend = 150;
constexpr double kGanttRow = 26, kGanttThick = 20, kGanttBelow = 50;
constexpr std::size_t kMostRowName = 22;

// The lane of each span within its row, and how many lanes there are: as few as hold them.
std::pair<std::vector<std::size_t>, std::size_t> LanesOf(const GanttRow& row) {
  std::vector<std::size_t> order(row.spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return row.spans[a].from < row.spans[b].from;
  });
  std::vector<std::size_t> lanes(row.spans.size());
  std::vector<double> free_from;
  for (const std::size_t i : order) {
    const GanttSpan& span = row.spans[i];
    const auto lane = std::find_if(free_from.begin(), free_from.end(),
                                   [&](double free) { return free <= span.from; });
    lanes[i] = static_cast<std::size_t>(lane - free_from.begin());
    if (lane == free_from.end()) {
      free_from.push_back(span.to);
    } else {
      *lane = span.to;
    }
  }
  return {std::move(lanes), std::max<std::size_t>(1, free_from.size())};
}

// Whole characters, never half of one.
std::string ShortRowName(const std::string& name) {
  if (name.size() <= kMostRowName) return name;
  std::size_t end = kMostRowName - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "…";
}

}  // namespace

std::string GanttSvg(const Gantt& gantt) {
  const double right = kGanttLeft + kGanttWidth;
  const double rows = kGanttRow * static_cast<double>(gantt.rows.size());
  const double keys = 20 * static_cast<double>(gantt.keys.size());
  const double bottom = svg::kHeading + std::max(rows, kGanttRow);
  svg::Canvas canvas(right + kGanttEdge + (gantt.keys.empty() ? 0 : kGanttLegend),
                     std::max(bottom + kGanttBelow, svg::kHeading + keys + kGanttEdge));
  canvas.Heading(kGanttEdge, gantt.title, gantt.subtitle);
  const svg::Scale x{gantt.time.least, gantt.time.most, kGanttLeft, right};
  const AxisMarks marks = MarksOf(gantt.time, 8);
  for (const auto& [tick, text] : marks.marks) {
    canvas.Line(x(tick), svg::kHeading, x(tick), bottom, svg::kGrid);
    canvas.Text(x(tick), bottom + 18, text, svg::Anchor::kMiddle, svg::Canvas::Quiet());
  }
  double top = svg::kHeading;
  for (const GanttRow& row : gantt.rows) {
    canvas.Text(kGanttLeft - 8, top + kGanttThick - 5, ShortRowName(row.name), svg::Anchor::kEnd);
    const auto [lanes, count] = LanesOf(row);
    const double height = kGanttThick / static_cast<double>(count);
    for (std::size_t i = 0; i < row.spans.size(); ++i) {
      const GanttSpan& span = row.spans[i];
      // What is too short to see is drawn all the same.
      canvas.Box(x(span.from), top + 2 + height * static_cast<double>(lanes[i]),
                 std::max(0.8, x(span.to) - x(span.from)), std::max(0.8, height - 0.6),
                 ChartColour(span.colour), span.title);
    }
    top += kGanttRow;
  }
  canvas.Line(kGanttLeft, bottom, right, bottom, svg::kInk);
  canvas.Line(kGanttLeft, svg::kHeading, kGanttLeft, bottom, svg::kInk);
  canvas.Text((kGanttLeft + right) / 2, bottom + 40, marks.label, svg::Anchor::kMiddle);
  double at = svg::kHeading + 10;
  for (const ChartKey& key : gantt.keys) {
    canvas.Box(right + kGanttEdge, at - 8, 14, 12, ChartColour(key.colour));
    canvas.Text(right + kGanttEdge + 20, at + 3, ShortRowName(key.name));
    at += 20;
  }
  return std::move(canvas).Take();
}

std::string GanttCsv(const Gantt& gantt) {
  CsvText csv("row,name,from,to");
  for (const GanttRow& row : gantt.rows) {
    for (const GanttSpan& span : row.spans) {
      csv.Harmless(row.name).Harmless(span.name).Field(span.from).Field(span.to).EndRow();
    }
  }
  return std::move(csv).Take();
}

}  // namespace sharewell::report
