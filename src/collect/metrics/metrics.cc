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
      "Every metric that a collector can give. The page is made from the tables in `src/collect`\n"
      "(`SHAREWELL_UPDATE_GOLDEN=1 build/release/collect_tests --gtest_filter='Metrics.*'` writes "
      "it anew).\n"
      "`sharewell doctor` says which collectors work on a machine, and what would mend the "
      "others.\n\n"
      "What is not known is left out; no reading is ever 0 for unknown. A counter only rises, and\n"
      "starts again where its source does. Metrics named `job_...` belong to a job; the others to "
      "the machine.\n"
      "The last column is the name on `/metrics` where dcgm-exporter, node_exporter or "
      "ipmi_exporter has one, with its\n"
      "fixed labels and what our value is multiplied by to be theirs; the others are "
      "`sharewell_NAME`.\n"
      "Sensors (hwmon) carry chip and sensor in one label, `sensor`.\n";
  const auto out = std::back_inserter(page);
  for (const MetricSection& section : kSections) {
    fmt::format_to(out, "\n## {}\n\n", section.title);
    page +=
        "| name | unit | kind | instance | what it is | exported as |\n|---|---|---|---|---|---|\n";
    for (const core::Metric* metric : section.metrics) {
      fmt::format_to(out, "| `{}` | {} | {} | {} | {}{} | {} |\n", metric->name, metric->unit,
                     metric->kind == core::MetricKind::kCounter ? "counter" : "gauge",
                     metric->instance, metric->help,
                     metric->basis == core::Basis::kApportioned ? " (apportioned)" : "",
                     ExportedAs(*metric));
    }
  }
  return page;
}

}  // namespace sharewell::collect
