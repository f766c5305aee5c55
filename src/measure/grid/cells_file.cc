#include "measure/grid/cells_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/text/parse_number.h"
#include "platform/files/csv.h"

namespace sharewell::measure {
namespace {

constexpr std::string_view kAxisPrefix = "axis_";
constexpr double kMibBytes = 1024 * 1024;
constexpr platform::Range kSensible{0, 1e18};
// Beyond this no axis of a chart has a label.
constexpr double kMostAxisValue = 1e12, kLeastAxisValue = 1e-9;

CellState StateNamed(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"done", "failed", "left_out", "waiting"};
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at == kNames.end() ? CellState::kWaiting : static_cast<CellState>(at - kNames.begin());
}

std::optional<core::Ratio> OfHundred(const std::optional<double>& percent) {
  return percent ? std::optional(*percent / 100) : std::nullopt;
}

template <class Quantity>
std::optional<Quantity> As(const std::optional<double>& value, double unit = 1) {
  return value ? std::optional(Quantity(*value * unit)) : std::nullopt;
}

AxisValue AxisValueOf(std::string_view text) {
  AxisValue value{std::string(text), core::FiniteNumber(text)};
  if (!value.number) return value;
  const double size = std::abs(*value.number);
  if (size > kMostAxisValue || (size > 0 && size < kLeastAxisValue)) value.number.reset();
  return value;
}

using AxisTexts = std::vector<std::pair<std::string, std::string>>;

AxisTexts TextsOf(const SweepCell& cell) {
  AxisTexts texts;
  for (const auto& [name, value] : cell.cell.axes) texts.emplace_back(name, value.text);
  return texts;
}

// Which command template each cell came from is not in the file. Cells with other axes are of
// another one; so are two cells with the same values on all of them, and then workloads tell them
// apart.
void TellRunsApart(SweepResult& result) {
  std::map<std::vector<std::string>, std::vector<SweepCell*>> groups;
  for (SweepCell& cell : result.cells) {
    std::vector<std::string> names;
    for (const auto& [name, value] : cell.cell.axes) names.push_back(name);
    groups[names].push_back(&cell);
  }
  std::map<std::pair<std::vector<std::string>, std::string>, std::size_t> runs;
  for (const auto& [names, cells] : groups) {
    std::set<AxisTexts> seen;
    bool twice = false;
    for (const SweepCell* cell : cells) twice = !seen.insert(TextsOf(*cell)).second || twice;
    for (SweepCell* cell : cells) {
      const auto key = std::pair(names, twice ? cell->cell.workload.name : std::string());
      cell->run = runs.emplace(key, runs.size()).first->second;
    }
  }
}

}  // namespace

core::Result<SweepResult> ReadSweepCells(std::string_view text, const std::string& file) {
  platform::CsvReader csv(text, file);
  using Column = platform::CsvReader::Column;
  SweepResult result;
  std::vector<Column> axes;
  for (const std::string& name : csv.header()) {
    if (!name.starts_with(kAxisPrefix) || name.size() == kAxisPrefix.size()) continue;
    result.axes.push_back(name.substr(kAxisPrefix.size()));
    axes.push_back(csv.Find(name));
  }
  const Column workload = csv.Require("workload"), state = csv.Require("state");
  const Column batch = csv.Find("batch"), precision = csv.Find("precision");
  const Column workers = csv.Find("workers"), gpu = csv.Find("gpu");
  const Column rate = csv.Require("steps_per_s"), busy = csv.Find("gpu_util");
  const Column sm = csv.Find("gpm_sm"), dram = csv.Find("gpm_dram");
  const Column memory = csv.Find("mem_used_bytes"), cores = csv.Find("cpu_cores");
  const Column host = csv.Find("host_rss_bytes"), power = csv.Find("power_w");
  const Column sent = csv.Find("pcie_tx_mib_s"), received = csv.Find("pcie_rx_mib_s");
  const Column uncertainty = csv.Find("uncertainty_percent"), settled = csv.Find("settled");
  const Column warmup = csv.Find("warmup_s"), window = csv.Find("window_s");
  const Column bound_by = csv.Find("bound_by"), why = csv.Find("why"), key = csv.Find("key");
  const Column command = csv.Find("command");
  constexpr std::int64_t kMostWorkloadNumber = 1'000'000'000;
  while (csv.Next() && result.cells.size() < kMostCells) {
    SweepCell cell;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string_view value = csv.Text(axes[a]);
      if (value.empty()) continue;  // another run of the sweep has this axis
      cell.cell.axes.emplace_back(result.axes[a], AxisValueOf(value));
      const auto& number = cell.cell.axes.back().second.number;
      const bool whole = number && *number >= 1 && *number <= 1e6;
      if (whole && result.axes[a] == "cpus") cell.cell.cpus = static_cast<int>(*number);
      if (whole && result.axes[a] == "gpus") cell.cell.gpus = static_cast<int>(*number);
    }
    core::Workload& of = cell.cell.workload;
    of.name = csv.Text(workload);
    of.batch = static_cast<int>(csv.OptionalInteger(batch, 0, kMostWorkloadNumber).value_or(0));
    of.precision = csv.Text(precision);
    of.workers = static_cast<int>(csv.OptionalInteger(workers, 0, kMostWorkloadNumber).value_or(0));
    cell.state = StateNamed(csv.Text(state));
    cell.why = csv.Text(why);
    cell.cell.key = csv.Text(key);
    cell.cell.command = {std::string(csv.Text(command))};
    core::Profile& profile = cell.summary.profile;
    profile.workload = of;
    profile.gpu = csv.Text(gpu);
    profile.steps_per_second = csv.OptionalNumber(rate, kSensible);
    profile.busy = OfHundred(csv.OptionalNumber(busy, kSensible));
    profile.sm = OfHundred(csv.OptionalNumber(sm, kSensible));
    profile.dram = OfHundred(csv.OptionalNumber(dram, kSensible));
    profile.gpu_memory = As<core::Bytes>(csv.OptionalNumber(memory, kSensible));
    profile.cpu_cores = csv.OptionalNumber(cores, kSensible);
    profile.host_memory = As<core::Bytes>(csv.OptionalNumber(host, kSensible));
    profile.power = As<core::Watts>(csv.OptionalNumber(power, kSensible));
    RunSummary& run = cell.summary;
    run.pcie_sent = As<core::BytesPerSecond>(csv.OptionalNumber(sent, kSensible), kMibBytes);
    run.pcie_received =
        As<core::BytesPerSecond>(csv.OptionalNumber(received, kSensible), kMibBytes);
    run.uncertainty = OfHundred(csv.OptionalNumber(uncertainty, kSensible));
    run.settled = csv.OptionalNumber(settled).value_or(0) == 1;
    run.warmup = core::Seconds(csv.OptionalNumber(warmup, kSensible).value_or(0));
    run.window = core::Seconds(csv.OptionalNumber(window, kSensible).value_or(0));
    run.bound_by = csv.Text(bound_by);
    if (result.gpu.empty()) result.gpu = profile.gpu;
    result.cells.push_back(std::move(cell));
  }
  if (!csv.ok()) return csv.error();
  if (result.cells.empty()) {
    return core::UsageError("{}: there is no cell in it; has the sweep run?", file);
  }
  TellRunsApart(result);
  DrawConclusions(result);
  return result;
}

}  // namespace sharewell::measure
