#include "collect/metrics/metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

struct MetricSection {
  std::string_view title;
  std::span<const core::Metric* const> metrics;
};

const MetricSection kSections[] = {
    {"The GPUs, and jobs on them", kGpuMetrics}, {"The machine", kHostMetrics},
    {"The processor's counters", kPerfMetrics},  {"Power and temperature", kPowerMetrics},
    {"Jobs on the host", kJobMetrics},
};

std::string ExportedAs(const core::Metric& metric) {
  if (metric.exported.empty()) return "";
  std::string text = fmt::format("`{}`", metric.exported);
  if (!metric.export_labels.empty()) text += fmt::format(" `{{{}}}`", metric.export_labels);
  if (metric.export_scale != 1) text += fmt::format(" x {:.6g}", metric.export_scale);
  return text;
}

}  // namespace

std::span<const core::Metric* const> AllMetrics() {
  static const auto all = [] {
    std::vector<const core::Metric*> list;
    for (const MetricSection& section : kSections) {
      list.insert(list.end(), section.metrics.begin(), section.metrics.end());
    }
    return list;
  }();
  return all;
}

std::string MetricsPage() {
  std::string page =
      "# Metrics\n\n"
      "Look up what a collector can give. `sharewell doctor` says which collectors work on a "
      "machine.\n\n"
      "The unit is the end of the name; a name without one counts. What is not known is left out, "
      "never 0. A counter\n"
      "only rises: since boot, of a GPU since its driver was loaded, of RAPL since the collector "
      "began. The others are\n"
      "gauges; shares, means and rates are of the time since the reading before. Metrics named "
      "`job_...` belong to a\n"
      "job. The last column is the name on `/metrics` where dcgm-exporter, node_exporter or "
      "ipmi_exporter has one, with\n"
      "its fixed labels and the factor from our value to theirs; the others are "
      "`sharewell_NAME`.\n";
  const auto out = std::back_inserter(page);
  for (const MetricSection& section : kSections) {
    fmt::format_to(out, "\n## {}\n\n", section.title);
    page += "| name | instance | what it is | exported as |\n|---|---|---|---|\n";
    for (const core::Metric* metric : section.metrics) {
      fmt::format_to(out, "| `{}` | {} | {}{}{} | {} |\n", metric->name, metric->instance,
                     metric->kind == core::MetricKind::kCounter ? "Counter. " : "", metric->help,
                     metric->basis == core::Basis::kApportioned ? " (apportioned)" : "",
                     ExportedAs(*metric));
    }
  }
  return page;
}

}  // namespace sharewell::collect
