#include "advice/recommend/measured_cells.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "catalogue/profiles_file.h"
#include "catalogue/workload_columns.h"
#include "platform/files/csv.h"
#include "platform/files/embedded.h"
#include "platform/files/mapped_file.h"

namespace sharewell::advice::recommend {
namespace {

constexpr double kMostCores = 1e6;
constexpr platform::Range kPercent{0, 1000};

core::Estimated<> Measured(double value, const std::optional<double>& uncertainty = {}) {
  core::Estimated<> out{core::Interval<>::Unbounded(value), core::Source::kObserved};
  if (uncertainty) {
    out.low = std::max(0.0, value * (1 - *uncertainty));
    out.high = value * (1 + *uncertainty);
  }
  return out;
}

std::optional<core::Estimated<>> MeasuredOrNothing(const std::optional<double>& value) {
  return value ? std::optional(Measured(*value)) : std::nullopt;
}

// Letters and digits; everything between them is '_'.
std::string Folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      out += static_cast<char>(std::tolower(letter));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  return out;
}

// What a curve says of fewer cores than the row itself had. Only the rate is known there.
void AddCurve(const core::CpuCurve& curve, const MeasuredCell& whole,
              std::vector<MeasuredCell>& out) {
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    MeasuredCell fewer = whole;
    fewer.cell.setting.cores = curve[i].first;
    fewer.cell.samples = Measured(whole.cell.samples.median * curve[i].second);
    fewer.cell.power.reset();
    fewer.cell.cores_used.reset();
    out.push_back(std::move(fewer));
  }
}

}  // namespace

core::Result<std::vector<MeasuredCell>> ReadMeasuredCells(
    std::string_view text, const std::string& name, const catalogue::GpuCatalogue& catalogue) {
  platform::CsvReader csv(text, name);
  csv.Require("workload");
  const auto gpu = csv.Require("gpu"), steps = csv.Require("steps_per_s");
  const auto workload = catalogue::WorkloadColumns::Find(csv);
  const auto cpus = csv.Find("cpus") ? csv.Find("cpus") : csv.Find("axis_cpus");
  const auto power = csv.Find("power_w"), memory = csv.Find("mem_used_bytes"),
             used = csv.Find("cpu_cores"), uncertainty = csv.Find("uncertainty_percent"),
             curve = csv.Find("cpu_curve"), sitting = csv.Find("sitting"),
             family = csv.Find("family");
  const auto graph = csv.Find("model") ? csv.Find("model") : csv.Find("onnx");
  std::vector<MeasuredCell> out;
  while (csv.Next()) {
    const core::Workload of = workload.Read(csv);
    const auto rate = csv.OptionalNumber(steps, {0, 1e12});
    const auto cores = csv.OptionalNumber(cpus, {0, kMostCores, true});
    const auto watts = csv.OptionalNumber(power, {0, 1e5});
    const auto bytes = csv.OptionalNumber(memory, {0, 1e15});
    const auto busy = csv.OptionalNumber(used, {0, kMostCores});
    const auto percent = csv.OptionalNumber(uncertainty, kPercent);
    const auto points = catalogue::ReadCpuCurve(csv, curve);
    if (!csv.ok()) break;
    if (csv.Text(gpu).empty() || of.batch == 0 || of.name.empty() || !rate || !(*rate > 0)) {
      continue;
    }
    const auto model = catalogue.Find(csv.Text(gpu));
    if (!model) {
      return tl::unexpected(
          core::Error(model.error()).Within(fmt::format("{}: line {}", name, csv.line())));
    }
    MeasuredCell row;
    row.workload = of.name;
    row.sitting = std::string(csv.Text(sitting));
    row.graph = std::string(csv.Text(graph));
    row.family = std::string(csv.Text(family));
    Cell& cell = row.cell;
    cell.setting = {model->name, of.precision.empty() ? "fp32" : of.precision, of.batch, of.workers,
                    cores};
    const double samples = *rate * of.batch;
    cell.samples = Measured(samples, percent ? std::optional(*percent / 100) : std::nullopt);
    cell.power = MeasuredOrNothing(watts);
    cell.memory = MeasuredOrNothing(bytes);
    cell.cores_used = MeasuredOrNothing(busy);
    cell.from = name;
    if (!points.empty()) {
      AddCurve(points, row, out);
      cell.setting.cores = points.back().first;
    }
    out.push_back(std::move(row));
  }
  if (!csv.ok()) return csv.error();
  if (out.empty()) {
    return core::UsageError(
        "{}: no row has a GPU, a batch and a rate; measure with `sharewell sweep` and give its "
        "cells.csv",
        name);
  }
  return out;
}

core::Result<std::vector<MeasuredCell>> ReadMeasuredCellsFile(
    const std::string& path, const catalogue::GpuCatalogue& catalogue) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  return ReadMeasuredCells(mapped->text(), path, catalogue);
}

std::vector<MeasuredCell> BuiltinMeasuredCells() {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  std::vector<MeasuredCell> out;
  for (const auto& [text, name] :
       {std::pair(platform::EmbeddedH200Cores(), "data/h200/cores.csv"),
        std::pair(platform::EmbeddedH200Profiles(), "data/h200/profiles.csv"),
        std::pair(platform::EmbeddedH200Profiles2(), "data/h200/profiles-2.csv")}) {
    auto cells = ReadMeasuredCells(text, name, catalogue);
    SHAREWELL_CHECK(cells.has_value());
    for (MeasuredCell& cell : *cells) {
      // What the first sitting measured stands: the host of a later one had another speed.
      const bool again = std::any_of(out.begin(), out.end(), [&](const MeasuredCell& known) {
        return known.workload == cell.workload && known.cell.setting == cell.cell.setting;
      });
      if (!again) out.push_back(std::move(cell));
    }
  }
  return out;
}

bool NamedAfter(std::string_view model, std::string_view workload) {
  const std::string stem = std::filesystem::path(model).stem().string();
  return model == workload || Folded(stem) == Folded(workload);
}

}  // namespace sharewell::advice::recommend
