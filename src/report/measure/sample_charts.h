// Series of samples as charts over time: a table says which metrics stand in which chart, and what
// nobody sampled is named.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_record.h"
#include "report/chart/line_chart.h"
#include "report/measure/series.h"

namespace sharewell::report {

// One line of a chart: a metric, what people call it, and what its values are multiplied by; of
// `whole`, the metric of the same instance that it is a share of.
struct DrawnMetric {
  std::string_view metric, called;
  double times = 1;
  std::string_view whole = {};
};

struct SampleChartKind {
  const char *name, *title, *label;
  std::array<DrawnMetric, 4> drawn;  // those without a metric are none
  bool percent = false;
};

struct SampleChart {
  std::string name;   // SampleChartKind::name
  std::string title;  // SampleChartKind::title
  LineChart chart;
};

struct SampleCharts {
  std::vector<SampleChart> charts;
  std::vector<std::string> missing;  // titles of those of which nothing was sampled
};

// Whether one of the charts draws this metric.
bool IsDrawn(std::span<const SampleChartKind> kinds, std::string_view metric);

// Whether a series tells of the job: those named after it are its own; of the others, those of its
// GPUs (collectors name them by index) and of the machine.
bool IsOfJob(const core::JobRecord& job, const store::SeriesKey& key);

// `series`: with buckets over the range, which is where the charts begin and end. `name` heads
// them.
SampleCharts DrawSamples(std::span<const SampleChartKind> kinds, const std::string& name,
                         store::TimeRange range, const std::vector<SeriesRead>& series);

// What Takayama et al. draw of a run: their figures 1 to 6, and 8 to 15.
std::span<const SampleChartKind> TakayamaCharts();
// What they had no counters for: the GPU from inside, its clocks, PCIe, and the job by itself.
std::span<const SampleChartKind> OtherCharts();

}  // namespace sharewell::report
