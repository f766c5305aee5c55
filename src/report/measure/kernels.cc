#include "report/measure/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::KernelFigure;

constexpr std::size_t kLongestName = 48;
constexpr std::size_t kMostUnknown = 5;

// "850 µs" is too coarse for kernels: "12.4 µs".
std::string Time(core::Seconds time) {
  if (time.value >= 1) return Duration(time);
  if (time.value >= 1e-3) return Number(time.value * 1e3, 1) + " ms";
  return Number(time.value * 1e6, 1) + " µs";
}

std::string ShownRate(double bytes) { return Rate(core::BytesPerSecond(bytes)); }

std::optional<double> Plain(const std::optional<core::BytesPerSecond>& rate) {
  return rate ? std::optional<double>(rate->value) : std::nullopt;
}

struct Column {
  const char* heading;
  const char* key;
  std::function<std::optional<double>(const KernelFigure&)> value;
  std::string (*show)(double);
};

const std::vector<Column>& Columns() {
  static const std::vector<Column> columns = {
      {"SM", "sm_ratio", [](const KernelFigure& k) { return k.sm; }, Percent},
      {"memory", "memory_ratio", [](const KernelFigure& k) { return k.memory; }, Percent},
      {"L2", "l2_ratio", [](const KernelFigure& k) { return k.l2; }, Percent},
      {"DRAM", "dram_ratio", [](const KernelFigure& k) { return k.dram; }, Percent},
      {"read", "dram_read_ratio", [](const KernelFigure& k) { return k.dram_read_share; }, Percent},
      {"write", "dram_write_ratio", [](const KernelFigure& k) { return k.dram_write_share; },
       Percent},
      {"read", "dram_read_bytes_per_second",
       [](const KernelFigure& k) { return Plain(k.dram_read); }, ShownRate},
      {"write", "dram_write_bytes_per_second",
       [](const KernelFigure& k) { return Plain(k.dram_write); }, ShownRate},
      {"occupancy", "occupancy_ratio", [](const KernelFigure& k) { return k.occupancy; }, Percent},
  };
  return columns;
}

std::string KernelTable(const core::ProfileRecord& record, const KernelFigure& whole,
                        std::size_t most) {
  std::vector<const Column*> columns;
  for (const Column& column : Columns()) {
    // The rates where the shares are not known: both would be too wide.
    const bool doubled =
        column.show == ShownRate && whole.dram_read_share && whole.dram_write_share;
    if (column.value(whole) && !doubled) columns.push_back(&column);
  }
  std::vector<std::pair<std::string, Align>> headings = {{"kernel", Align::kLeft},
                                                         {"launches", Align::kRight},
                                                         {"time", Align::kRight},
                                                         {"share", Align::kRight}};
  for (const Column* column : columns) headings.emplace_back(column->heading, Align::kRight);
  Table table(headings);
  const auto add = [&](const std::string& name, const KernelFigure& kernel) {
    const bool timed = whole.time.value > 0;
    std::vector<std::string> cells = {name, Number(static_cast<double>(kernel.launches), 0),
                                      timed ? Time(kernel.time) : kUnknown,
                                      timed ? Percent(kernel.time / whole.time) : kUnknown};
    for (const Column* column : columns) cells.push_back(Or(column->value(kernel), column->show));
    table.Row(std::move(cells));
  };
  for (std::size_t i = 0; i < std::min(most, record.kernels.size()); ++i) {
    add(ShortKernelName(record.kernels[i].name), record.kernels[i]);
  }
  table.Gap();
  add(fmt::format("all {}", record.kernels.size()), whole);
  std::string text = table.Text();
  if (most < record.kernels.size()) {
    text += fmt::format("\n{}: --top shows more, --json all.\n",
                        core::Count(record.kernels.size() - most, "more kernel"));
  }
  return text;
}

std::string ShowFigure(const core::Figure& figure) {
  if (figure.unit == "ratio") return Percent(figure.mean);
  if (figure.unit == "seconds") return Time(core::Seconds(figure.mean));
  if (figure.unit == "bytes") return Size(core::Bytes(figure.mean));
  if (figure.unit == "bytes_per_second") return ShownRate(figure.mean);
  return Number(figure.mean, 2);
}

// The figures that a trace gives of the whole; those of the kernels are in the table.
std::string TraceFigures(const core::ProfileRecord& record) {
  struct Words {
    std::string_view metric, words;
  };
  constexpr Words kWords[] = {
      {"trace_gpu_busy_ratio", "GPU busy (a kernel runs)"},
      {"trace_step_seconds", "a step"},
      {"trace_launch_gap_ratio", "GPU waits for a launch"},
      {"trace_launch_gap_seconds", "such a gap"},
      {"trace_copied_bytes", "copied"},
      {"trace_copy_bytes_per_second", "copying at"},
      {"trace_sm_covered_ratio", "SMs that have a block"},
      {"trace_blocks_per_sm", "blocks per SM"},
  };
  Table table({{"", Align::kLeft}, {"", Align::kRight}, {"count", Align::kRight}});
  bool any = false;
  const auto add = [&](const std::string& words, const std::string& value, std::int64_t count) {
    any = true;
    table.Row({words, value, Number(static_cast<double>(count), 0)});
  };
  for (const Words& wanted : kWords) {
    for (const core::Figure& figure : record.figures) {
      if (figure.metric != wanted.metric) continue;
      add(fmt::format("{}{}{}", wanted.words, figure.instance.empty() ? "" : ", ", figure.instance),
          ShowFigure(figure), figure.readings);
    }
  }
  if (!any) return {};
  std::string text = table.Text();
  if (record.profile.steps_per_second) {
    text += fmt::format("{} steps a second\n", Number(*record.profile.steps_per_second, 2));
  }
  return text + "\n";
}

void WriteRow(json::Writer& out, const KernelFigure& kernel) {
  out.Field("launches", kernel.launches);
  out.Field("seconds", ValueIf(kernel.time.value > 0, kernel.time));
  for (const Column& column : Columns()) out.Field(column.key, column.value(kernel));
}

// The identifier around the first "Functor" of a template's arguments.
std::string_view TellingPart(std::string_view name) {
  const auto at = name.find("Functor");
  if (at == std::string_view::npos) return {};
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::size_t begin = at, end = at;
  while (begin > 0 && letter(name[begin - 1])) --begin;
  while (end < name.size() && letter(name[end])) ++end;
  return name.substr(begin, end - begin);
}

}  // namespace

std::string ShortKernelName(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string base;
  std::size_t depth = 0;
  bool templates = false;
  while (!name.empty()) {
    for (const std::string_view unnamed :
         {"(anonymous namespace)::", "<unnamed>::", "_GLOBAL__N__"}) {
      if (depth == 0 && name.starts_with(unnamed)) name.remove_prefix(unnamed.size());
    }
    if (name.empty()) break;
    const char c = name.front();
    if (c == '(' && depth == 0) break;
    if (c == '<' && depth++ == 0 && !templates) {
      templates = true;
      const std::string_view part = TellingPart(name);
      base += part.empty() ? "<..>" : fmt::format("<..{}..>", part);
    }
    if (depth == 0) base += c;
    if (c == '>' && depth > 0) --depth;
    name.remove_prefix(1);
  }
  // Namespaces say least.
  for (auto colons = base.find("::"); base.size() > kLongestName && colons < base.find('<');
       colons = base.find("::")) {
    base.erase(0, colons + 2);
  }
  if (base.size() > kLongestName) {
    base.resize(kLongestName - 2);
    // Not in the middle of a character.
    while (!base.empty() && (static_cast<unsigned char>(base.back()) & 0x80) != 0) base.pop_back();
    base += "..";
  }
  return base;
}

std::string KernelsText(const core::ProfileRecord& record, const KernelFigure& whole,
                        std::size_t most) {
  std::string text = fmt::format("{}: {}{}", record.source, record.name,
                                 record.profile.gpu.empty() ? "" : ", on " + record.profile.gpu);
  if (record.window.value > 0) text += fmt::format(", {} of trace", Time(record.window));
  text += "\n\n" + TraceFigures(record);
  if (!record.kernels.empty()) text += KernelTable(record, whole, most);
  if (!record.bound_by.empty()) text += fmt::format("\nbound by {}\n", record.bound_by);
  if (!record.notes.empty()) text += "\n";
  for (const std::string& note : record.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string KernelsJson(const core::ProfileRecord& record, const KernelFigure& whole) {
  return JsonReport([&](json::Writer& out) {
    out.Field("id", record.id);
    out.Field("name", record.name);
    out.Field("source", record.source);
    out.TextOrNull("gpu", record.profile.gpu);
    out.Field("window_seconds", ValueIf(record.window.value > 0, record.window));
    out.Field("busy_ratio", record.profile.busy);
    out.Field("steps_per_second", record.profile.steps_per_second);
    out.Object("whole", [&] { WriteRow(out, whole); });
    out.List("kernels", record.kernels, [&](const KernelFigure& kernel) {
      out.Object([&] {
        out.Field("name", kernel.name);
        WriteRow(out, kernel);
      });
    });
    out.List("figures", record.figures, [&](const core::Figure& figure) {
      out.Object([&] {
        out.Field("metric", figure.metric);
        out.Field("instance", figure.instance);
        out.Field("unit", figure.unit);
        out.Field("mean", figure.mean);
        out.Field("least", figure.least);
        out.Field("most", figure.most);
        out.Field("median", figure.median);
        out.Field("p95", figure.p95);
        out.Field("readings", figure.readings);
      });
    });
    out.Field("notes", record.notes);
  });
}

std::string ImportedText(const measure::ImportedMetrics& imported) {
  Table table({{"metric", Align::kLeft},
               {"unit", Align::kLeft},
               {"series", Align::kRight},
               {"samples", Align::kRight},
               {"least", Align::kRight},
               {"mean", Align::kRight},
               {"most", Align::kRight}});
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  for (const measure::ImportedMetric& row : imported.metrics) {
    table.Row({row.metric, row.unit, Number(static_cast<double>(row.series), 0),
               Number(static_cast<double>(row.samples), 0), number(row.least), number(row.mean),
               number(row.most)});
  }
  std::string text = table.Text();
  text += fmt::format("\n{} sample{} of {}\n", Number(static_cast<double>(imported.samples), 0),
                      imported.samples == 1 ? "" : "s", core::Count(imported.nodes.size(), "node"));
  if (imported.blank > 0) text += fmt::format("note: {} had no value (blank)\n", imported.blank);
  if (imported.repeated > 0) {
    text +=
        fmt::format("note: left out {} that came again under other labels\n", imported.repeated);
  }
  if (imported.failed > 0) {
    text += fmt::format("note: {} of {} scrapes failed\n", imported.failed, imported.scrapes);
  }
  if (!imported.unknown.empty()) {
    text += fmt::format("note: {} metric name{} not ours, and left out:", imported.unknown.size(),
                        imported.unknown.size() == 1 ? " is" : "s are");
    for (std::size_t i = 0; i < std::min(kMostUnknown, imported.unknown.size()); ++i) {
      text += (i > 0 ? ", " : " ") + imported.unknown[i].first;
    }
    text += imported.unknown.size() > kMostUnknown ? " ...\n" : "\n";
  }
  return text;
}

std::string ImportedJson(const measure::ImportedMetrics& imported) {
  return JsonReport([&](json::Writer& out) {
    out.Field("scrapes", imported.scrapes);
    out.Field("failed_scrapes", imported.failed);
    out.Field("samples", imported.samples);
    out.Field("blank_samples", imported.blank);
    out.Field("repeated_samples", imported.repeated);
    out.Field("nodes", imported.nodes);
    out.List("metrics", imported.metrics, [&](const measure::ImportedMetric& row) {
      out.Object([&] {
        out.Field("metric", row.metric);
        out.Field("unit", row.unit);
        out.Field("series", row.series);
        out.Field("samples", row.samples);
        out.Field("least", row.least);
        out.Field("mean", row.mean);
        out.Field("most", row.most);
      });
    });
    out.Object("unknown_metrics", [&] {
      for (const auto& [name, samples] : imported.unknown) out.Field(name, samples);
    });
  });
}

}  // namespace sharewell::report
