// A co-location as CSV, JSON and charts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/chart/heat_map.h"
#include "report/chart/line_chart.h"
#include "report/measure/grid/colocate.h"
#include "report/measure/grid/colocate_matrix.h"
#include "report/text/csv.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using measure::CellState;
using measure::ColocatedSet;
using measure::ColocateResult;
using measure::Packing;

std::string HeaderFor(std::size_t members) {
  std::string header;
  for (std::size_t i = 0; i < members; ++i) {
    const char end = static_cast<char>('a' + i);
    header += fmt::format(
        "workload_{0},batch_{0},precision_{0},workers_{0},steps_per_s_{0},alone_steps_per_s_{0},"
        "cpu_cores_{0},sm_percent_{0},",
        end);
  }
  return header + "mps,gpu,gpu_util,gpm_sm,gpm_dram,power_w";
}

std::optional<double> Percents(const std::optional<core::Ratio>& share) {
  return share ? std::optional(*share * 100) : std::nullopt;
}

// Only what the format can say: a pair that did not fit has two zeros, a larger set no row.
bool HasRow(const ColocatedSet& group) {
  if (!group.fits) return group.members.size() == 2;
  return group.state == CellState::kDone &&
         std::all_of(group.runs.begin(), group.runs.end(), [](const measure::RunSummary& run) {
           return run.profile.steps_per_second.value_or(0) > 0;
         });
}

void AddSet(CsvText& csv, const ColocateResult& result, const ColocatedSet& group) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const measure::AloneRun& alone = result.alone[group.members[i]];
    const core::Workload& workload = alone.summary.profile.workload;
    csv.Field(workload.name)
        .Field(static_cast<double>(workload.batch))
        .Field(workload.precision)
        .Field(static_cast<double>(workload.workers));
    if (group.fits) {
      csv.Field(group.runs[i].profile.steps_per_second)
          .Field(alone.Rate())
          .Field(group.runs[i].profile.cpu_cores);
    } else {
      csv.Field(0.0).Field(alone.Rate()).Field(std::optional<double>());
    }
    csv.Field(alone.sm_percent ? std::optional<double>(*alone.sm_percent) : std::nullopt);
  }
  const measure::RunSummary first = group.fits ? group.runs.front() : measure::RunSummary{};
  // What two jobs on different GPUs do to each other is the host's doing, as without MPS.
  const bool one_gpu =
      std::all_of(group.members.begin(), group.members.end(), [&](std::size_t member) {
        return result.alone[member].gpu == result.alone[group.members.front()].gpu;
      });
  csv.Field(result.mps && one_gpu ? 1.0 : 0.0)
      .Field(result.gpu)
      .Field(Percents(first.device_busy))
      .Field(Percents(first.device_sm))
      .Field(Percents(first.device_dram))
      .Field(first.device_power ? std::optional(first.device_power->value) : std::nullopt);
  csv.EndRow();
}

const char* FitName(Packing fit) {
  constexpr const char* kNames[] = {"complementary", "sharing", "conflicting", "does_not_fit",
                                    "unknown"};
  return kNames[static_cast<std::size_t>(fit)];
}

std::string PackingSvg(const ColocateResult& result) {
  const auto matrix = PackingMatrix(result);
  if (matrix.empty()) return {};
  HeatMap map;
  map.title = result.name + ": slowdown when packed in pairs";
  map.subtitle = result.gpu.empty() ? "no GPU: what is measured is the host"
                                    : result.gpu + (result.mps ? ", CUDA MPS" : ", time-sliced");
  map.row_label = "slowdown of";
  map.column_label = "beside";
  map.least = 1;
  map.most = 2;
  map.scale_label = "time taken over time alone";
  for (const measure::AloneRun& alone : result.alone) map.rows.push_back(alone.name);
  map.columns = map.rows;
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    map.cells.emplace_back();
    for (std::size_t c = 0; c < matrix.size(); ++c) {
      const PackingCell& cell = matrix[r][c];
      HeatCell drawn;
      if (!cell.fits) {
        drawn.shown = "no fit";
      } else if (cell.slowdown) {
        drawn.value = std::max(1.0, *cell.slowdown);
        drawn.shown = fmt::format("{:.2f}", *drawn.value);
        map.most = std::max(map.most, *drawn.value);
      }
      drawn.title = fmt::format("{} beside {}: {}", map.rows[r], map.rows[c],
                                drawn.shown.empty() ? "not measured" : drawn.shown);
      map.cells.back().push_back(std::move(drawn));
    }
  }
  return HeatMapSvg(map);
}

std::string SlowdownSvg(const ColocateResult& result) {
  Scatter chart;
  chart.title = result.name + ": slowdown against summed utilisation";
  chart.subtitle = "each job of each set; as figure 5a of Yeung et al.";
  double most_x = 0, most_y = 1;
  std::set<std::size_t> seen;
  for (const ColocatedSet& group : result.groups) {
    if (!group.summed_utilisation) continue;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const auto& speed = group.speeds[i];
      if (!speed || *speed <= 0) continue;
      const std::size_t member = group.members[i];
      std::string others;
      for (std::size_t j = 0; j < group.members.size(); ++j) {
        if (j != i) others += " + " + result.alone[group.members[j]].name;
      }
      const double x = *group.summed_utilisation * 100, y = 1 / *speed;
      most_x = std::max(most_x, x);
      most_y = std::max(most_y, y);
      chart.points.push_back(
          {x, y, member, fmt::format("{}{}: {:.2f}", result.alone[member].name, others, y)});
      if (seen.insert(member).second && member < kChartColours) {
        chart.keys.push_back({result.alone[member].name, member});
      }
    }
  }
  if (chart.points.empty()) return {};
  std::sort(chart.keys.begin(), chart.keys.end(),
            [](const ChartKey& a, const ChartKey& b) { return a.colour < b.colour; });
  if (*seen.rbegin() >= kChartColours) chart.keys.push_back({"others", kChartColours});
  chart.x = AxisUpTo(
      result.gpu.empty() ? "CPU use of each alone, summed, %" : "GPU busy of each alone, summed, %",
      most_x);
  chart.y = AxisUpTo("time taken over time alone", most_y);
  return ScatterSvg(chart);
}

}  // namespace

std::vector<NamedCsv> GroupsCsv(const ColocateResult& result) {
  std::map<std::size_t, CsvText> by_size;
  for (const ColocatedSet& group : result.groups) {
    if (!HasRow(group)) continue;
    const std::size_t size = group.members.size();
    AddSet(by_size.try_emplace(size, HeaderFor(size)).first->second, result, group);
  }
  std::vector<NamedCsv> out;
  for (auto& [size, csv] : by_size) {
    out.push_back({size == 2   ? "pairs.csv"
                   : size == 3 ? "triples.csv"
                               : fmt::format("companies-{}.csv", size),
                   std::move(csv).Take()});
  }
  return out;
}

std::vector<NamedSvg> ColocateCharts(const ColocateResult& result) {
  std::vector<NamedSvg> out;
  if (auto svg = PackingSvg(result); !svg.empty()) out.push_back({"packing.svg", std::move(svg)});
  if (auto svg = SlowdownSvg(result); !svg.empty()) out.push_back({"slowdown.svg", std::move(svg)});
  return out;
}

std::string ColocateJson(const ColocateResult& result) {
  return JsonReport([&](json::Writer& out) {
    out.Field("name", result.name);
    out.TextOrNull("gpu", result.gpu);
    out.Field("mps", result.mps);
    out.Field("interrupted", result.interrupted);
    out.List("alone", result.alone, [&](const measure::AloneRun& alone) {
      const core::Profile& profile = alone.summary.profile;
      out.Object([&] {
        out.Field("name", alone.name);
        out.Field("workload", profile.workload.name);
        out.Field("state", alone.state == CellState::kDone ? "done" : "failed");
        out.Field("steps_per_second", alone.Rate());
        out.Field("uncertainty_ratio", alone.summary.uncertainty);
        out.Field("drift_ratio", alone.Drift());
        out.Field("gpu_busy_ratio", profile.busy);
        out.Field("gpu_sm_ratio", profile.sm);
        out.Field("cpu_cores", profile.cpu_cores);
        out.TextOrNull("why", alone.why);
      });
    });
    out.List("sets", result.groups, [&](const ColocatedSet& group) {
      out.Object([&] {
        out.Key("members");
        out.List([&] {
          for (std::size_t i = 0; i < group.members.size(); ++i) {
            const bool ran = group.state == CellState::kDone && i < group.runs.size();
            out.Object([&] {
              out.Field("name", result.alone[group.members[i]].name);
              out.Field("steps_per_second",
                        ran ? group.runs[i].profile.steps_per_second : std::nullopt);
              out.Field("speed_ratio", group.speeds[i]);
            });
          }
        });
        out.Field("fit", FitName(group.fit));
        out.Field("summed_utilisation_ratio", group.summed_utilisation);
        out.TextOrNull("why", group.why);
      });
    });
    out.Field("notes", result.notes);
  });
}

}  // namespace sharewell::report
