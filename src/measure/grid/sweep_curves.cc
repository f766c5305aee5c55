// From the cells of a sweep to its curves, knees and profiles.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/text/quoted.h"
#include "measure/grid/sweep_result.h"

namespace sharewell::measure {
namespace {

constexpr std::size_t kFewestValues = 3;

// Axes of which more is meant to help; of any other a knee would say nothing.
bool IsResource(const std::string& axis) {
  static const std::set<std::string> names = {"cpus", "threads", "workers",
                                              "gpus", "memory",  "batch"};
  return names.contains(axis);
}

const AxisValue* ValueOf(const GridCell& cell, const std::string& axis) {
  const auto at = std::find_if(cell.axes.begin(), cell.axes.end(),
                               [&](const auto& entry) { return entry.first == axis; });
  return at == cell.axes.end() ? nullptr : &at->second;
}

// The other axes' values, and the run, which tell one line from another.
using LineKey = std::pair<std::size_t, std::vector<std::pair<std::string, std::string>>>;

LineKey KeyWithout(const SweepCell& cell, const std::string& axis) {
  LineKey key{cell.run, {}};
  for (const auto& [name, value] : cell.cell.axes) {
    if (name != axis) key.second.emplace_back(name, value.text);
  }
  return key;
}

SweepPoint PointOf(const SweepResult& result, const SweepCell& cell, double x) {
  const core::Profile& profile = cell.summary.profile;
  SweepPoint point{.x = x};
  point.throughput = ThroughputOf(result, cell.summary);
  point.uncertainty = cell.summary.uncertainty;
  point.busy = profile.busy;
  point.sm = profile.sm;
  const int cores = cell.cell.cpus.value_or(result.cores);
  if (profile.cpu_cores && cores > 0) point.cpu = *profile.cpu_cores / cores;
  return point;
}

std::optional<Knee> KneeOf(const SweepLine& line) {
  std::vector<CurvePoint> curve;
  for (const SweepPoint& point : line.points) {
    if (point.throughput) curve.push_back({point.x, *point.throughput, point.uncertainty});
  }
  return FindKnee(curve);
}

// The names of lines: what all of them share need not be said.
void NameLines(const std::vector<LineKey>& keys, const std::vector<std::string>& workloads,
               std::vector<SweepLine>& lines) {
  std::map<std::string, std::set<std::string>> seen;
  std::set<std::size_t> runs;
  for (const LineKey& key : keys) {
    runs.insert(key.first);
    for (const auto& [axis, value] : key.second) seen[axis].insert(value);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> parts;
    if (runs.size() > 1) parts.push_back(workloads[i]);
    for (const auto& [axis, value] : keys[i].second) {
      if (seen[axis].size() < 2 && keys.size() > 1) continue;
      // Words speak for themselves, numbers do not.
      const bool word = value.find_first_not_of("0123456789.+-e") != std::string::npos;
      if (word && !parts.empty() && parts.front().find(value) != std::string::npos) continue;
      parts.push_back(word ? value : fmt::format("{} {}", axis, value));
    }
    lines[i].name = parts.empty() ? workloads[i] : fmt::format("{}", fmt::join(parts, ", "));
  }
}

// "1N2G": one node, and the GPUs each cell had. Empty: not the same for all.
std::string ConfigurationOf(const SweepResult& result, const std::string& axis) {
  std::set<int> gpus;
  for (const SweepCell& cell : result.cells) {
    if (cell.state == CellState::kDone) {
      gpus.insert(cell.cell.gpus.value_or(result.gpu.empty() ? 0 : 1));
    }
  }
  return gpus.size() == 1 && axis != "gpus" ? fmt::format("1N{}G", *gpus.begin()) : "";
}

std::optional<SweepPlot> PlotOf(const SweepResult& result, const std::string& axis) {
  std::map<LineKey, std::size_t> index;
  std::vector<LineKey> keys;
  std::vector<std::string> workloads;
  SweepPlot plot{.axis = axis};
  std::set<double> values;
  for (const SweepCell& cell : result.cells) {
    const AxisValue* value = ValueOf(cell.cell, axis);
    if (value == nullptr || !value->number || cell.state != CellState::kDone) continue;
    values.insert(*value->number);
    const auto key = KeyWithout(cell, axis);
    const auto [at, made] = index.emplace(key, plot.lines.size());
    if (made) {
      plot.lines.emplace_back();
      keys.push_back(key);
      workloads.push_back(cell.cell.workload.name);
    }
    plot.lines[at->second].points.push_back(PointOf(result, cell, *value->number));
  }
  if (values.size() < kFewestValues) return std::nullopt;
  for (SweepLine& line : plot.lines) {
    std::sort(line.points.begin(), line.points.end(),
              [](const SweepPoint& a, const SweepPoint& b) { return a.x < b.x; });
    if (IsResource(axis)) line.knee = KneeOf(line);
  }
  NameLines(keys, workloads, plot.lines);
  plot.configuration = ConfigurationOf(result, axis);
  return plot;
}

// One profile for each line over cpus: that of the cell with most of them, with the curve.
void GatherProfiles(SweepResult& result) {
  std::map<LineKey, std::vector<const SweepCell*>> lines;
  std::vector<LineKey> order;
  for (const SweepCell& cell : result.cells) {
    if (cell.state != CellState::kDone) continue;
    const auto key = KeyWithout(cell, "cpus");
    auto& line = lines[key];
    if (line.empty()) order.push_back(key);
    line.push_back(&cell);
  }
  std::set<core::Workload> seen;
  std::size_t twice = 0;
  for (const LineKey& key : order) {
    auto& line = lines[key];
    std::stable_sort(line.begin(), line.end(), [](const SweepCell* a, const SweepCell* b) {
      return a->cell.cpus.value_or(0) < b->cell.cpus.value_or(0);
    });
    RunSummary summary = line.back()->summary;
    std::vector<CurvePoint> curve;
    for (const SweepCell* cell : line) {
      const auto& steps = cell->summary.profile.steps_per_second;
      if (!cell->cell.cpus || !steps) continue;
      curve.push_back({static_cast<double>(*cell->cell.cpus), *steps, cell->summary.uncertainty});
    }
    summary.profile.cpu_curve = FittedCurve(curve);
    if (!seen.insert(summary.profile.workload).second) {
      ++twice;
      continue;
    }
    result.profiles.push_back(std::move(summary));
  }
  if (twice > 0) {
    result.notes.push_back(
        fmt::format("{} profiles are not in profiles.csv, for another one has the same workload, "
                    "batch, precision and workers; put the axis that tells them apart into "
                    "`workload`",
                    twice));
  }
}

}  // namespace

std::size_t SweepResult::Count(CellState state) const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [&](const SweepCell& cell) { return cell.state == state; }));
}

std::optional<double> ThroughputOf(const SweepResult& result, const RunSummary& summary) {
  const auto& steps = summary.profile.steps_per_second;
  if (!steps || result.unit == ThroughputUnit::kSteps) return steps;
  return *steps * summary.profile.workload.batch;
}

void DrawConclusions(SweepResult& result) {
  result.plots.clear();
  result.profiles.clear();
  bool all_say_batch = true, any = false;
  for (const SweepCell& cell : result.cells) {
    if (cell.state != CellState::kDone) continue;
    any = true;
    all_say_batch = all_say_batch && cell.summary.profile.workload.batch > 0;
  }
  result.unit = any && all_say_batch ? ThroughputUnit::kSamples : ThroughputUnit::kSteps;
  for (const std::string& axis : result.axes) {
    if (auto plot = PlotOf(result, axis)) result.plots.push_back(*std::move(plot));
  }
  GatherProfiles(result);
}

}  // namespace sharewell::measure
