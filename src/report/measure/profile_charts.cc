#include "report/measure/profile_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "report/chart/line_chart.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

constexpr std::size_t kMostChartLines = 36;  // more could not be told apart

// One line of a chart: a metric, what people call it, and what its values are multiplied by; of
// `whole`, the metric of the same instance that it is a share of.
struct Drawn {
  std::string_view metric, called;
  double times = 1;
  std::string_view whole = {};
};

struct ChartKind {
  const char *name, *title, *label;
  std::array<Drawn, 4> drawn;  // those without a metric are none
  bool percent = false;
};

constexpr std::array<ChartKind, 7> kCharts{{
    {"cpu-temperature",
     "CPU temperature",
     "°C",
     {{{"cpu_temperature_celsius", "hottest CPU sensor"},
       {"ipmi_temperature_celsius", "management controller"}}}},
    {"cpu-gpu-power",
     "CPU and GPU power",
     "W",
     {{{"rapl_package_joules", "CPU package"},
       {"gpu_power_watts", "GPU"},
       {"machine_power_watts", "whole machine"}}}},
    {"cpu-gpu-busy",
     "CPU and GPU utilisation",
     "%",
     {{{"cpu_busy_ratio", "all CPUs", 100}, {"gpu_busy_ratio", "GPU", 100}}},
     true},
    {"cpu-gpu-memory",
     "CPU and GPU memory in use",
     "%",
     {{{"memory_used_bytes", "host memory", 100, "memory_total_bytes"},
       {"gpu_memory_used_bytes", "GPU memory", 100, "gpu_memory_total_bytes"}}},
     true},
    {"disk",
     "disk reads and writes",
     "MB/s",
     {{{"disk_read_bytes", "read", 1e-6}, {"disk_written_bytes", "written", 1e-6}}}},
    {"memory-intensity",
     "memory intensity: DRAM accesses by 100 instructions",
     "index",
     {{{"memory_intensity_index", "index"}}}},
    {"cpu-clock", "clock of each CPU thread", "MHz", {{{"cpu_frequency_hertz", "CPU", 1e-6}}}},
}};

// The last value of the metric on the same instance: how much there is of it does not move.
std::optional<double> WholeOf(const std::vector<SeriesRead>& series, std::string_view metric,
                              const std::string& instance) {
  for (const SeriesRead& read : series) {
    if (read.info.key.metric == metric && read.info.key.instance == instance &&
        !read.buckets.empty() && read.buckets.back().last > 0) {
      return read.buckets.back().last;
    }
  }
  return std::nullopt;
}

// CPUs by their number, devices by their name.
bool ByInstance(const SeriesRead* a, const SeriesRead* b) {
  const std::string &x = a->info.key.instance, &y = b->info.key.instance;
  return std::pair(x.size(), x) < std::pair(y.size(), y);
}

void AddLines(const Drawn& drawn, const std::vector<SeriesRead>& series, core::UnixMillis from,
              LineChart& chart) {
  std::vector<const SeriesRead*> found;
  for (const SeriesRead& read : series) {
    if (read.info.key.metric == drawn.metric) found.push_back(&read);
  }
  std::sort(found.begin(), found.end(), ByInstance);
  for (const SeriesRead* read : found) {
    double times = drawn.times;
    const std::string& instance = read->info.key.instance;
    if (!drawn.whole.empty()) {
      const auto whole = WholeOf(series, drawn.whole, instance);
      if (!whole) continue;
      times /= *whole;
    }
    ChartLine line;
    line.name =
        instance.empty() ? std::string(drawn.called) : fmt::format("{} {}", drawn.called, instance);
    for (const SeriesValue& value : SeriesValues(read->info.kind, read->buckets)) {
      if (!std::isfinite(value.value)) continue;
      const double seconds = static_cast<double>(value.time - from) / 1e3;
      line.points.push_back({seconds, value.value * times, 0, ""});
    }
    if (!line.points.empty()) chart.lines.push_back(std::move(line));
  }
}

}  // namespace

bool IsInProfileCharts(std::string_view metric) {
  return std::any_of(kCharts.begin(), kCharts.end(), [&](const ChartKind& kind) {
    return std::any_of(kind.drawn.begin(), kind.drawn.end(), [&](const Drawn& drawn) {
      return !metric.empty() && (drawn.metric == metric || drawn.whole == metric);
    });
  });
}

store::TimeRange ProfileRange(const core::ProfileRecord& record) {
  const double seconds = (record.warmup + record.window).value + 1;
  return {record.created,
          record.created + static_cast<core::UnixMillis>(std::llround(seconds * 1e3))};
}

std::string ProfileNode(const core::ProfileRecord& record) {
  for (const auto& [name, value] : record.environment) {
    if (name == "node") return value;
  }
  return {};
}

ProfileCharts DrawProfileCharts(const core::ProfileRecord& record,
                                const std::vector<SeriesRead>& series) {
  ProfileCharts out;
  const store::TimeRange range = ProfileRange(record);
  for (const ChartKind& kind : kCharts) {
    LineChart chart;
    for (const Drawn& drawn : kind.drawn) {
      if (!drawn.metric.empty()) AddLines(drawn, series, range.from, chart);
    }
    if (chart.lines.empty()) {
      out.missing.emplace_back(kind.title);
      continue;
    }
    chart.title = fmt::format("{}: {}", record.name, kind.title);
    chart.subtitle = UtcTime(record.created) + " UTC";
    if (chart.lines.size() > kMostChartLines) {
      chart.subtitle +=
          fmt::format("; the first {} of {} lines", kMostChartLines, chart.lines.size());
      chart.lines.resize(kMostChartLines);
    }
    double most = kind.percent ? 100 : 0;
    for (const ChartLine& line : chart.lines) {
      for (const LinePoint& point : line.points) most = std::max(most, point.y);
    }
    chart.y = AxisUpTo(kind.label, most > 0 ? most : 1);
    chart.x = {"seconds since the start", 0, static_cast<double>(range.to - range.from) / 1e3};
    out.charts.push_back({kind.name, LineChartSvg(chart)});
  }
  return out;
}

std::string ProfileChartFilesJson(const std::vector<std::string>& files) {
  return Document(Json{{"schema", kSchema}, {"files", files}});
}

}  // namespace sharewell::report
