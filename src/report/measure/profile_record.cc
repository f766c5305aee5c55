#include "report/measure/profile_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/text/plain_text.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::Figure;
using core::ProfileRecord;

constexpr std::size_t kNameWidth = 16;
constexpr std::size_t kValueWidth = 12;
constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kMostCommand = 400;

std::string Tame(std::string_view text, std::size_t most) {
  return core::PlainText(text.substr(0, most), " ") + (text.size() > most ? "..." : "");
}

std::string CommandLine(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`;&|<>()*?") == word.npos;
    line += plain ? word : "'" + word + "'";
    if (line.size() > kMostCommand) break;
  }
  return Tame(line, kMostCommand);
}

// A line of the profile: what, how much, and what else there is to say.
class Lines {
 public:
  void Add(std::string_view name, const std::string& value, const std::string& more = {}) {
    std::string line = fmt::format("  {:<{}}", name, kNameWidth);
    line += value;
    if (!more.empty()) {
      const std::size_t width = DisplayWidth(value);
      line += std::string(width < kValueWidth ? kValueWidth - width : 1, ' ') + more;
    }
    text_ += line + "\n";
  }
  void Long(std::string_view name, const std::string& value) {
    const std::size_t indent = kNameWidth + 2;
    text_ += fmt::format("  {:<{}}", name, kNameWidth) +
             Wrapped(value, kLineWidth, indent, indent) + "\n";
  }
  void Gap() { text_ += "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

const Figure* Find(const ProfileRecord& record, std::string_view metric) {
  for (const Figure& figure : record.figures) {
    if (figure.metric == metric) return &figure;
  }
  return nullptr;
}

// Of several instances the one with most: the disk that works.
const Figure* Largest(const ProfileRecord& record, std::string_view metric) {
  const Figure* largest = nullptr;
  for (const Figure& figure : record.figures) {
    if (figure.metric == metric && (largest == nullptr || figure.mean > largest->mean)) {
      largest = &figure;
    }
  }
  return largest;
}

std::string PlusMinus(const ProfileRecord& record) {
  std::string text = record.settled ? "settled" : "not settled";
  if (record.uncertainty) text = fmt::format("± {}, {}", Percent(*record.uncertainty), text);
  return text;
}

std::string Measured(const ProfileRecord& record) {
  std::string text = fmt::format("{} over {} after {} of warm-up", PlusMinus(record),
                                 Duration(record.window), Duration(record.warmup));
  if (record.repeats > 1) text += fmt::format(", {} runs", record.repeats);
  return text;
}

constexpr double kCountedByDcgm = 2;  // gpu_activity_source in docs/metrics.md

void AddGpu(const ProfileRecord& record, Lines& lines) {
  const core::Profile& profile = record.profile;
  if (profile.busy) {
    std::vector<std::string> more;
    if (profile.sm) more.push_back("SM " + Percent(*profile.sm));
    if (profile.dram) more.push_back("DRAM " + Percent(*profile.dram));
    for (const auto& [metric, name] :
         {std::pair{"gpu_tensor_ratio", "tensor"}, std::pair{"gpu_occupancy_ratio", "occupancy"}}) {
      if (const Figure* figure = Largest(record, metric)) {
        more.push_back(fmt::format("{} {}", name, Percent(figure->mean)));
      }
    }
    std::string fine = fmt::format("{}", fmt::join(more, ", "));
    const Figure* source = Largest(record, "gpu_activity_source");
    if (source != nullptr && source->mean == kCountedByDcgm) fine += " (by DCGM)";
    lines.Add("GPU busy", Percent(*profile.busy), fine);
  }
  if (profile.gpu_memory) lines.Add("GPU memory", Size(*profile.gpu_memory), "at most");
  if (profile.pcie) {
    lines.Add("PCIe", Rate(*profile.pcie), "both ways");
  }
  if (profile.power) lines.Add("GPU power", fmt::format("{:.0f} W", profile.power->value));
}

void AddDisk(const ProfileRecord& record, Lines& lines) {
  struct Way {
    const char *name, *of_job, *of_disk;
  };
  for (const Way& way : {Way{"disk read", "job_read_bytes", "disk_read_bytes"},
                         Way{"disk written", "job_written_bytes", "disk_written_bytes"}}) {
    const Figure* figure = Find(record, way.of_job);
    const std::string whose = figure != nullptr ? "by the job" : "by the machine";
    if (figure == nullptr) figure = Largest(record, way.of_disk);
    if (figure == nullptr) continue;
    lines.Add(way.name, InUnit(figure->mean, figure->unit),
              fmt::format("peak {}, {}", InUnit(figure->most, figure->unit), whose));
  }
}

void AddHost(const ProfileRecord& record, Lines& lines) {
  const core::Profile& profile = record.profile;
  const Figure* cpu = Find(record, "cpu_busy_ratio");
  if (profile.cpu_cores) {
    lines.Add("CPU cores", fmt::format("{:.2f}", *profile.cpu_cores),
              cpu != nullptr ? fmt::format("the machine's CPUs {} busy", Percent(cpu->mean)) : "");
  }
  if (profile.host_memory) lines.Add("host memory", Size(*profile.host_memory), "at most");
  AddDisk(record, lines);
  const Figure* index = Find(record, "job_memory_intensity_index");
  if (index != nullptr) {
    lines.Add("memory intensity", fmt::format("{:.3f}", index->mean), index->instance);
  }
  // Takayama et al.'s figure 16.
  if (profile.busy && cpu != nullptr && cpu->mean > 0) {
    lines.Add("GPU over CPU", fmt::format("{:.2f}", *profile.busy / cpu->mean),
              fmt::format("GPU {} over CPU {}", Percent(*profile.busy), Percent(cpu->mean)));
  }
}

std::string Heading(const ProfileRecord& record) {
  std::string text = Tame(record.name, 200);
  const core::Workload& workload = record.profile.workload;
  if (workload.name != record.name) text += ": " + Tame(workload.name, 200);
  if (workload.batch > 0) text += fmt::format(", batch {}", workload.batch);
  if (!workload.precision.empty()) text += ", " + Tame(workload.precision, 20);
  if (workload.workers > 0) text += fmt::format(", {} workers", workload.workers);
  if (!record.profile.gpu.empty()) text += " on " + Tame(record.profile.gpu, 60);
  if (record.id > 0) text += fmt::format("  (profile {})", record.id);
  return text;
}

}  // namespace

std::string ProfileRecordText(const ProfileRecord& record) {
  Lines lines;
  const core::Profile& profile = record.profile;
  if (profile.steps_per_second) {
    const double rate = *profile.steps_per_second;
    lines.Add("steps/s",
              fmt::format("{:.{}f}", rate,
                          rate < 10     ? 3
                          : rate < 1000 ? 1
                                        : 0),
              Measured(record));
  } else if (!record.figures.empty()) {
    lines.Add("steps/s", kUnknown, Measured(record));
  }
  AddGpu(record, lines);
  AddHost(record, lines);
  if (!record.bound_by.empty()) lines.Long("bound by", Tame(record.bound_by, 400));
  if (!record.kernels.empty()) {
    lines.Add("kernels", fmt::format("{}", record.kernels.size()), "in the JSON");
  }
  lines.Gap();
  if (!record.command.empty()) lines.Long("command", CommandLine(record.command));
  if (record.created > 0) lines.Add("measured", UtcTime(record.created) + " UTC");
  if (record.exit_code) lines.Add("exit code", fmt::format("{}", *record.exit_code));
  for (const auto& [name, value] : record.environment) {
    lines.Long(Tame(name, 40), Tame(value, 400));
  }
  for (const std::string& note : record.notes) lines.Long("note", Tame(note, 600));
  return Heading(record) + "\n" + lines.text();
}

std::string PredictedBeside(const ProfileRecord& record, const advice::PredictionRow& row) {
  using predict::Figure;
  const core::Profile& profile = record.profile;
  const auto bare = [](const auto& value) {
    return value ? std::optional(value->value) : std::nullopt;
  };
  const auto& step = row.StepSeconds();
  const core::Interval<> rate{1 / step.median, 1 / step.high, 1 / step.low};
  const struct {
    const char *name, *unit;
    std::optional<double> measured;
    core::Interval<> predicted;
  } figures[] = {
      {"steps/s", "1", profile.steps_per_second, rate},
      {"GPU busy", "ratio", profile.busy, row.prediction[Figure::kBusy]},
      {"SM", "ratio", profile.sm, row.prediction[Figure::kSm]},
      {"DRAM", "ratio", profile.dram, row.prediction[Figure::kDram]},
      {"GPU memory", "bytes", bare(profile.gpu_memory), row.prediction[Figure::kMemory]},
      {"CPU cores", "1", profile.cpu_cores, row.prediction[Figure::kCores]},
      {"host memory", "bytes", bare(profile.host_memory), row.prediction[Figure::kHostMemory]},
      {"GPU power", "watts", bare(profile.power), row.prediction[Figure::kPower]},
  };
  Table table({{"", Align::kLeft},
               {"measured", Align::kRight},
               {"predicted", Align::kRight},
               {"nine in ten between", Align::kLeft}});
  for (const auto& figure : figures) {
    if (!figure.measured || !std::isfinite(figure.predicted.median)) continue;
    table.Row({figure.name, InUnit(*figure.measured, figure.unit),
               InUnit(figure.predicted.median, figure.unit),
               fmt::format("{} and {}", InUnit(figure.predicted.low, figure.unit),
                           InUnit(figure.predicted.high, figure.unit))});
  }
  return table.Text();
}

}  // namespace sharewell::report
