#include "report/html/profile_report.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/html/page.h"
#include "report/measure/profile_charts.h"
#include "report/measure/sample_charts.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using core::ProfileRecord;
using FactList = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMostKernels = 50;

// The figures of the paper that a chart stands for.
struct PaperFigure {
  std::string_view chart, figure;
};
constexpr std::array<PaperFigure, 7> kPaperFigures = {{{"cpu-temperature", "figure 1"},
                                                       {"cpu-gpu-power", "figure 2"},
                                                       {"cpu-gpu-busy", "figure 3"},
                                                       {"cpu-gpu-memory", "figure 4"},
                                                       {"disk", "figure 5"},
                                                       {"memory-intensity", "figure 6"},
                                                       {"cpu-clock", "figures 8 to 15"}}};

std::string CaptionOf(const SampleChart& chart) {
  for (const PaperFigure& known : kPaperFigures) {
    if (known.chart == chart.name) {
      return fmt::format("{} over time, as in {} of Takayama et al.", chart.title, known.figure);
    }
  }
  return chart.title + " over time.";
}

std::string WorkloadInWords(const core::Workload& workload) {
  std::string text = workload.name;
  if (workload.batch > 0) text += fmt::format(", batch {}", workload.batch);
  if (!workload.precision.empty()) text += ", " + workload.precision;
  if (workload.workers > 0) {
    text += ", " + core::Count(static_cast<std::uint64_t>(workload.workers), "loader worker");
  }
  return text;
}

template <class Quantity>
std::optional<double> Plain(const std::optional<Quantity>& value) {
  return value ? std::optional(value->value) : std::nullopt;
}

FactList NeedsOf(const ProfileRecord& record) {
  const core::Profile& p = record.profile;
  const auto in = [](std::string_view unit) {
    return [unit](double value) { return InUnit(value, unit); };
  };
  FactList facts = {
      {"workload", WorkloadInWords(p.workload)},
      {"GPU", p.gpu.empty() ? "none" : p.gpu},
      {"steps a second", Or(p.steps_per_second, in("1"))},
      {"GPU busy", Or(p.busy, in("ratio"))},
      {"SM active", Or(p.sm, in("ratio"))},
      {"GPU memory traffic, of its peak", Or(p.dram, in("ratio"))},
      {"GPU memory, at most", Or(Plain(p.gpu_memory), in("bytes"))},
      {"PCIe, both ways", Or(Plain(p.pcie), in("bytes/s"))},
      {"GPU power", Or(Plain(p.power), in("watts"))},
      {"CPU cores", Or(p.cpu_cores, in("1"))},
      {"host memory, at most", Or(Plain(p.host_memory), in("bytes"))},
  };
  if (!record.bound_by.empty()) facts.emplace_back("bound by", record.bound_by);
  std::string how =
      fmt::format("over {} after {} of warm-up", Duration(record.window), Duration(record.warmup));
  if (record.repeats > 1) how += fmt::format(", {} runs", record.repeats);
  how += record.settled ? "; the figures had settled" : "; the figures had not settled";
  if (record.uncertainty) how += fmt::format(", ± {}", Percent(*record.uncertainty));
  facts.emplace_back("measured", how);
  if (record.exit_code) facts.emplace_back("exit code", fmt::format("{}", *record.exit_code));
  return facts;
}

// "resnet50 makes 41.3 steps a second on an H200 and is bound by its loaders."
void OpenProfile(HtmlPage& page, const ProfileRecord& record) {
  const core::Profile& p = record.profile;
  const auto steps = [](double rate) { return fmt::format("{:.4g}", rate); };
  std::string sentence = fmt::format(
      "{} {}{}", record.name,
      p.steps_per_second ? fmt::format("makes {} steps a second", steps(*p.steps_per_second))
                         : "told no steps",
      p.gpu.empty() ? " without a GPU" : " on " + p.gpu);
  if (!record.bound_by.empty()) sentence += "; what bounds it: " + record.bound_by;
  page.Opens(sentence + ".",
             {{Or(p.steps_per_second, steps), "steps a second"},
              {Or(p.busy, Percent), "GPU busy"},
              {p.gpu_memory ? Size(*p.gpu_memory) : kUnknown, "GPU memory, at most"}});
}

HtmlTable FigureRows(const ProfileRecord& record) {
  HtmlTable table{{{"metric", Align::kLeft},
                   {"of", Align::kLeft},
                   {"mean", Align::kRight},
                   {"least", Align::kRight},
                   {"median", Align::kRight},
                   {"95 %", Align::kRight},
                   {"most", Align::kRight}},
                  {}};
  for (const core::Figure& f : record.figures) {
    table.rows.push_back({f.metric, f.instance, InUnit(f.mean, f.unit), InUnit(f.least, f.unit),
                          InUnit(f.median, f.unit), InUnit(f.p95, f.unit), InUnit(f.most, f.unit)});
  }
  return table;
}

HtmlTable KernelRows(const ProfileRecord& record) {
  HtmlTable table{{{"kernel", Align::kLeft},
                   {"launches", Align::kRight},
                   {"time", Align::kRight},
                   {"SM", Align::kRight},
                   {"DRAM", Align::kRight},
                   {"occupancy", Align::kRight}},
                  {}};
  for (const core::KernelFigure& k : record.kernels) {
    table.rows.push_back({k.name, fmt::format("{}", k.launches), Duration(k.time),
                          Or(k.sm, Percent), Or(k.dram, Percent), Or(k.occupancy, Percent)});
  }
  return table;
}

void AddSamples(HtmlPage& page, const SampleCharts& drawn) {
  for (const SampleChart& chart : drawn.charts) {
    page.Chart(chart.name, CaptionOf(chart), chart.chart);
  }
}

void SayMissing(HtmlPage& page, const std::vector<std::string>& missing) {
  if (missing.empty()) return;
  page.Quiet(
      "Unknown, as the store has no samples of it from this run (`sharewell doctor` says what "
      "cannot be measured on a machine, and why):");
  page.Listed(missing);
}

}  // namespace

bool IsInProfileReport(std::string_view metric) {
  return IsDrawn(TakayamaCharts(), metric) || IsDrawn(OtherCharts(), metric);
}

std::string ProfileReport(const ProfileRecord& record, const std::vector<SeriesRead>& series,
                          std::string_view made) {
  std::string subtitle = record.id > 0 ? fmt::format("profile {}, ", record.id) : std::string();
  subtitle += fmt::format("made by `sharewell {}`", record.source);
  if (record.created > 0) subtitle += ", " + UtcTime(record.created) + " UTC";
  HtmlPage page("Profile " + record.name, subtitle, made);
  OpenProfile(page, record);
  page.Section("What it needs");
  page.Facts(NeedsOf(record));
  const auto paper = DrawSamples(TakayamaCharts(), record.name, ProfileRange(record), series);
  const auto others = DrawSamples(OtherCharts(), record.name, ProfileRange(record), series);
  page.Section("The run over time");
  AddSamples(page, paper);
  SayMissing(page, paper.missing);
  page.Section("The GPU and the job");
  AddSamples(page, others);
  SayMissing(page, others.missing);
  if (!record.kernels.empty()) {
    page.Section("Kernels");
    page.Rows(KernelRows(record), kMostKernels);
  }
  page.Section("How it was measured");
  std::string command;
  for (const std::string& word : record.command) command += (command.empty() ? "" : " ") + word;
  if (!command.empty()) page.Verbatim(command);
  page.Facts(record.environment);
  page.Listed(record.notes);
  page.Folded("Every figure over the steady window", FigureRows(record), 2000);
  return std::move(page).Take();
}

}  // namespace sharewell::report
