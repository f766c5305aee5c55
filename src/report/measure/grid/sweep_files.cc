// A sweep as CSV and JSON.
#include <fmt/format.h>

#include <algorithm>

#include "report/measure/grid/sweep.h"
#include "report/text/csv.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using measure::CellState;
using measure::RunSummary;
using measure::SweepCell;
using measure::SweepResult;

constexpr double kBytesInMiB = 1024 * 1024;

template <class Quantity>
std::optional<double> In(const std::optional<Quantity>& quantity, double unit = 1) {
  return quantity ? std::optional(quantity->value / unit) : std::nullopt;
}

std::optional<double> InPercent(const std::optional<core::Ratio>& share) {
  return share ? std::optional(*share * 100) : std::nullopt;
}

const char* StateName(CellState state) {
  constexpr const char* kNames[] = {"done", "failed", "left_out", "waiting"};
  return kNames[static_cast<std::size_t>(state)];
}

// The columns that profiles and cells have in common, in docs/formats/profiles.md's names.
constexpr std::string_view kFigureColumns =
    "gpu,steps_per_s,gpu_util,gpm_sm,gpm_dram,mem_used_bytes,pcie_tx_mib_s,pcie_rx_mib_s,cpu_cores,"
    "host_rss_bytes,host_bandwidth_gbs,power_w";

void AddFigures(CsvText& csv, const RunSummary& summary) {
  const core::Profile& profile = summary.profile;
  csv.Field(profile.gpu)
      .Field(profile.steps_per_second)
      .Field(InPercent(profile.busy))
      .Field(InPercent(profile.sm))
      .Field(InPercent(profile.dram))
      .Field(In(profile.gpu_memory))
      .Field(In(summary.pcie_sent, kBytesInMiB))
      .Field(In(summary.pcie_received, kBytesInMiB))
      .Field(profile.cpu_cores)
      .Field(In(profile.host_memory))
      .Field(In(profile.host_bandwidth, 1e9))
      .Field(In(profile.power));
}

void AddWorkload(CsvText& csv, const core::Workload& workload) {
  csv.Field(workload.name)
      .Field(static_cast<double>(workload.batch))
      .Field(workload.precision)
      .Field(static_cast<double>(workload.workers));
}

std::string CommandText(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& part : command) text += (text.empty() ? "" : " ") + part;
  return text;
}

void WriteCurve(json::Writer& out, const measure::SweepPlot& plot, const measure::SweepLine& line) {
  out.Object([&] {
    out.Field("axis", plot.axis);
    out.TextOrNull("configuration", plot.configuration);
    out.Field("line", line.name);
    out.Key("knee");
    line.knee ? out.Value(line.knee->at) : out.Null();
    out.List("points", line.points, [&](const measure::SweepPoint& point) {
      out.Object([&] {
        out.Field("x", point.x);
        out.Field("throughput", point.throughput);
        out.Field("gpu_busy_ratio", point.busy);
        out.Field("gpu_sm_ratio", point.sm);
        out.Field("cpu_ratio", point.cpu);
      });
    });
  });
}

void WriteCell(json::Writer& out, const SweepResult& result, const SweepCell& cell) {
  out.Object("axes", [&] {
    for (const auto& [name, value] : cell.cell.axes) {
      value.number ? out.Field(name, *value.number) : out.Field(name, value.text);
    }
  });
  out.Field("workload", cell.cell.workload.name);
  out.Field("batch", cell.cell.workload.batch);
  out.Field("precision", cell.cell.workload.precision);
  out.Field("workers", cell.cell.workload.workers);
  out.Field("state", StateName(cell.state));
  out.TextOrNull("why", cell.why);
  const core::Profile& profile = cell.summary.profile;
  const bool done = cell.state == CellState::kDone;
  out.Field("steps_per_second", profile.steps_per_second);
  std::optional<double> samples;
  if (result.unit == measure::ThroughputUnit::kSamples) {
    samples = measure::ThroughputOf(result, cell.summary);
  }
  out.Field("samples_per_second", samples);
  out.Field("uncertainty_ratio", cell.summary.uncertainty);
  out.Field("gpu_busy_ratio", profile.busy);
  out.Field("gpu_sm_ratio", profile.sm);
  out.Field("gpu_dram_ratio", profile.dram);
  out.Field("gpu_memory_bytes", profile.gpu_memory);
  out.Field("cpu_cores", profile.cpu_cores);
  out.Field("host_memory_bytes", profile.host_memory);
  out.Field("power_watts", profile.power);
  out.Field("settled", ValueIf(done, cell.summary.settled));
  out.Field("profile_id", ValueIf(cell.summary.profile_id > 0, cell.summary.profile_id));
  out.TextOrNull("bound_by", cell.summary.bound_by);
  out.Field("notes", cell.summary.notes);
}

}  // namespace

std::string SweepCellsCsv(const SweepResult& result) {
  std::string header;
  for (const std::string& axis : result.axes) header += "axis_" + axis + ",";
  header += "workload,batch,precision,workers,state,";
  header += kFigureColumns;
  header +=
      ",samples_per_s,uncertainty_percent,settled,warmup_s,window_s,bound_by,profile_id,key,why,"
      "command";
  CsvText csv(header);
  for (const SweepCell& cell : result.cells) {
    for (const std::string& axis : result.axes) {
      const auto at = std::find_if(cell.cell.axes.begin(), cell.cell.axes.end(),
                                   [&](const auto& entry) { return entry.first == axis; });
      csv.Field(at == cell.cell.axes.end() ? std::string_view() : at->second.text);
    }
    AddWorkload(csv, cell.cell.workload);
    csv.Field(StateName(cell.state));
    AddFigures(csv, cell.summary);
    const bool done = cell.state == CellState::kDone;
    const auto measured = [&](double value) {
      return done ? std::optional(value) : std::optional<double>();
    };
    csv.Field(result.unit == measure::ThroughputUnit::kSamples
                  ? measure::ThroughputOf(result, cell.summary)
                  : std::nullopt)
        .Field(InPercent(cell.summary.uncertainty))
        .Field(measured(cell.summary.settled ? 1 : 0))
        .Field(measured(cell.summary.warmup.value))
        .Field(measured(cell.summary.window.value))
        .Field(cell.summary.bound_by)
        .Field(cell.summary.profile_id > 0
                   ? std::optional(static_cast<double>(cell.summary.profile_id))
                   : std::nullopt)
        .Field(cell.cell.key)
        .Field(cell.why)
        .Field(CommandText(cell.cell.command));
    csv.EndRow();
  }
  return std::move(csv).Take();
}

std::string ProfilesCsv(const std::vector<RunSummary>& profiles) {
  if (std::all_of(profiles.begin(), profiles.end(),
                  [](const RunSummary& summary) { return summary.profile.gpu.empty(); })) {
    return {};
  }
  CsvText csv("workload,batch,precision,workers," + std::string(kFigureColumns) +
              ",cpu_curve,seconds,uncertainty_percent");
  for (const RunSummary& summary : profiles) {
    if (summary.profile.gpu.empty()) continue;
    AddWorkload(csv, summary.profile.workload);
    AddFigures(csv, summary);
    std::string curve;
    for (const auto& [cores, share] : summary.profile.cpu_curve) {
      curve += fmt::format("{}{}:{:.4g}", curve.empty() ? "" : ";", cores, share * 100);
    }
    csv.Field(curve).Field(summary.window.value).Field(InPercent(summary.uncertainty));
    csv.EndRow();
  }
  return std::move(csv).Take();
}

std::string SweepJson(const SweepResult& result) {
  return JsonReport([&](json::Writer& out) {
    out.Field("name", result.name);
    out.TextOrNull("gpu", result.gpu);
    out.Field("cores", result.cores);
    out.Field("interrupted", result.interrupted);
    out.List("cells", result.cells,
             [&](const SweepCell& cell) { out.Object([&] { WriteCell(out, result, cell); }); });
    out.Key("curves");
    out.List([&] {
      for (const measure::SweepPlot& plot : result.plots) {
        for (const measure::SweepLine& line : plot.lines) WriteCurve(out, plot, line);
      }
    });
    out.Field("throughput_unit", result.unit == measure::ThroughputUnit::kSamples
                                     ? "samples_per_second"
                                     : "steps_per_second");
    out.Field("notes", result.notes);
  });
}

}  // namespace sharewell::report
