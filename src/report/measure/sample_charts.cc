#include "report/measure/sample_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/job/job_label.h"

namespace sharewell::report {
namespace {

constexpr std::size_t kMostSampleLines = 36;  // more could not be told apart
// Between two readings that are so many usual steps apart, nothing is known.
constexpr double kGapSteps = 5;
constexpr double kGibibytes = 1 / core::GiB(1).value;

constexpr std::array<SampleChartKind, 7> kTakayama{{
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

constexpr std::array<SampleChartKind, 7> kOthers{{
    {"gpu-activity",
     "activity inside the GPU",
     "%",
     {{{"gpu_sm_ratio", "SM active", 100},
       {"gpu_occupancy_ratio", "occupancy", 100},
       {"gpu_tensor_ratio", "tensor cores", 100},
       {"gpu_dram_ratio", "DRAM", 100}}},
     true},
    {"gpu-temperature",
     "GPU temperature",
     "°C",
     {{{"gpu_temperature_celsius", "GPU"}, {"gpu_memory_temperature_celsius", "GPU memory"}}}},
    {"gpu-clock",
     "GPU clocks",
     "MHz",
     {{{"gpu_sm_clock_hertz", "SM", 1e-6}, {"gpu_memory_clock_hertz", "memory", 1e-6}}}},
    {"pcie",
     "PCIe traffic",
     "GB/s",
     {{{"gpu_gpm_pcie_received_bytes_per_second", "to the GPU", 1e-9},
       {"gpu_gpm_pcie_sent_bytes_per_second", "from the GPU", 1e-9},
       {"gpu_pcie_received_bytes_per_second", "to the GPU", 1e-9},
       {"gpu_pcie_sent_bytes_per_second", "from the GPU", 1e-9}}}},
    {"job-cores", "CPU cores that the job uses", "cores", {{{"job_cores", "cores"}}}},
    {"job-memory",
     "memory of the job",
     "GiB",
     {{{"job_resident_bytes", "host memory", kGibibytes},
       {"job_gpu_memory_bytes", "GPU memory", kGibibytes}}}},
    {"job-disk",
     "disk reads and writes of the job",
     "MB/s",
     {{{"job_read_bytes", "read", 1e-6}, {"job_written_bytes", "written", 1e-6}}}},
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

// Five times the step that is usual in this line.
double GapOf(const std::vector<LinePoint>& points) {
  if (points.size() < 3) return 0;
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i) steps.push_back(points[i].x - points[i - 1].x);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return kGapSteps * *middle;
}

struct TimeUnit {
  const char* label;
  double milliseconds;
};

TimeUnit UnitFor(store::TimeRange range) {
  const double seconds = static_cast<double>(range.to - range.from) / 1e3;
  if (seconds <= 15 * 60) return {"seconds since the start", 1e3};
  if (seconds <= 5 * 3600) return {"minutes since the start", 60e3};
  if (seconds <= 4 * 86400) return {"hours since the start", 3600e3};
  return {"days since the start", 86400e3};
}

void AddLines(const DrawnMetric& drawn, const std::vector<SeriesRead>& series,
              core::UnixMillis from, const TimeUnit& unit, LineChart& chart) {
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
      const double at = static_cast<double>(value.time - from) / unit.milliseconds;
      line.points.push_back({at, value.value * times, 0, ""});
    }
    line.gap = GapOf(line.points);
    if (!line.points.empty()) chart.lines.push_back(std::move(line));
  }
}

}  // namespace

std::span<const SampleChartKind> TakayamaCharts() { return kTakayama; }
std::span<const SampleChartKind> OtherCharts() { return kOthers; }

bool IsOfJob(const core::JobRecord& job, const store::SeriesKey& key) {
  if (!key.job.empty()) return key.job == core::JobLabel(job.number);
  if (!key.metric.starts_with("gpu_")) return true;
  return std::any_of(job.gpus.begin(), job.gpus.end(), [&](const core::GivenGpu& gpu) {
    return key.instance == fmt::format("{}", gpu.index) || key.instance == gpu.uuid;
  });
}

bool IsDrawn(std::span<const SampleChartKind> kinds, std::string_view metric) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const SampleChartKind& kind) {
    return std::any_of(kind.drawn.begin(), kind.drawn.end(), [&](const DrawnMetric& drawn) {
      return !metric.empty() && (drawn.metric == metric || drawn.whole == metric);
    });
  });
}

SampleCharts DrawSamples(std::span<const SampleChartKind> kinds, const std::string& name,
                         store::TimeRange range, const std::vector<SeriesRead>& series) {
  SampleCharts out;
  const TimeUnit unit = UnitFor(range);
  for (const SampleChartKind& kind : kinds) {
    LineChart chart;
    for (const DrawnMetric& drawn : kind.drawn) {
      if (!drawn.metric.empty()) AddLines(drawn, series, range.from, unit, chart);
    }
    if (chart.lines.empty()) {
      out.missing.emplace_back(kind.title);
      continue;
    }
    chart.title = fmt::format("{}: {}", name, kind.title);
    chart.subtitle = UtcTime(range.from) + " UTC";
    if (chart.lines.size() > kMostSampleLines) {
      chart.subtitle +=
          fmt::format("; the first {} of {} lines", kMostSampleLines, chart.lines.size());
      chart.lines.resize(kMostSampleLines);
    }
    double most = kind.percent ? 100 : 0;
    for (const ChartLine& line : chart.lines) {
      for (const LinePoint& point : line.points) most = std::max(most, point.y);
    }
    chart.y = AxisUpTo(kind.label, most > 0 ? most : 1);
    chart.x = {unit.label, 0, static_cast<double>(range.to - range.from) / unit.milliseconds,
               range.from, unit.milliseconds};
    out.charts.push_back({kind.name, kind.title, std::move(chart)});
  }
  return out;
}

}  // namespace sharewell::report
