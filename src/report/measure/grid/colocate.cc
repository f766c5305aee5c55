#include "report/measure/grid/colocate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/words.h"
#include "report/measure/grid/colocate_matrix.h"
#include "report/measure/grid/sweep_columns.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using measure::CellState;
using measure::ColocatedSet;
using measure::ColocateResult;
using measure::Packing;

std::string MembersText(const ColocateResult& result, const ColocatedSet& group) {
  std::vector<std::string> names;
  for (const std::size_t member : group.members) names.push_back(result.alone[member].name);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string AloneTable(const ColocateResult& result) {
  const bool again = std::any_of(result.alone.begin(), result.alone.end(),
                                 [](const auto& alone) { return alone.again.has_value(); });
  std::vector<std::pair<std::string, Align>> columns = {
      {"alone", Align::kLeft},      {"steps/s", Align::kRight},    {"±", Align::kRight},
      {"GPU busy", Align::kRight},  {"SM", Align::kRight},         {"GPU memory", Align::kRight},
      {"CPU cores", Align::kRight}, {"host memory", Align::kRight}};
  if (again) columns.emplace_back("drift", Align::kRight);
  std::vector<std::vector<std::string>> rows;
  for (const measure::AloneRun& alone : result.alone) {
    const core::Profile& profile = alone.summary.profile;
    std::vector<std::string> row = {
        alone.name,
        Or(alone.Rate(), [](double v) { return fmt::format("{:.4g}", v); }),
        Or(alone.summary.uncertainty, Percent),
        Or(profile.busy, Percent),
        Or(profile.sm, Percent),
        profile.gpu_memory ? Size(*profile.gpu_memory) : std::string(kUnknown),
        Or(profile.cpu_cores, [](double v) { return Number(v, 2); }),
        profile.host_memory ? Size(*profile.host_memory) : std::string(kUnknown)};
    if (again) {
      row.push_back(Or(alone.Drift(), [](double v) { return fmt::format("{:+.1f} %", v * 100); }));
    }
    rows.push_back(std::move(row));
  }
  return KnownColumns(columns, rows).Text();
}

// What repeats measure above full speed is noise: shown as 1.00.
std::string SlowdownText(const PackingCell& cell) {
  if (!cell.fits) return "no fit";
  if (!cell.slowdown) return std::string(kUnknown);
  return fmt::format("{:.2f}", std::max(1.0, *cell.slowdown));
}

std::string MatrixTable(const ColocateResult& result) {
  const auto matrix = PackingMatrix(result);
  if (matrix.empty()) return {};
  std::vector<std::pair<std::string, Align>> columns = {{"slowdown of \\ beside", Align::kLeft}};
  for (const measure::AloneRun& alone : result.alone)
    columns.emplace_back(alone.name, Align::kRight);
  Table table(columns);
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    std::vector<std::string> row = {result.alone[r].name};
    for (const PackingCell& cell : matrix[r]) row.push_back(SlowdownText(cell));
    table.Row(std::move(row));
  }
  return "\n" + table.Text();
}

// Sets of three and more, one a line.
std::string LargerSets(const ColocateResult& result) {
  Table table({{"together", Align::kLeft}, {"speeds", Align::kLeft}});
  bool any = false;
  for (const ColocatedSet& group : result.groups) {
    if (group.members.size() < 3) continue;
    any = true;
    std::vector<std::string> speeds;
    for (const auto& speed : group.speeds) {
      speeds.push_back(Or(speed, [](double v) { return fmt::format("{:.2f}", std::min(1.0, v)); }));
    }
    table.Row({MembersText(result, group),
               !group.fits ? "no fit" : fmt::format("{}", fmt::join(speeds, "  "))});
  }
  return any ? "\n" + table.Text() : std::string();
}

std::string NamedFits(const ColocateResult& result, Packing fit, const std::string& words) {
  std::vector<std::string> names;
  for (const ColocatedSet& group : result.groups) {
    if (group.fit == fit) names.push_back(MembersText(result, group));
  }
  return names.empty() ? std::string() : fmt::format("{}: {}\n", words, fmt::join(names, ", "));
}

}  // namespace

std::vector<std::vector<PackingCell>> PackingMatrix(const ColocateResult& result) {
  const std::size_t n = result.alone.size();
  std::vector<std::vector<PackingCell>> matrix(n, std::vector<PackingCell>(n));
  bool any = false;
  for (const ColocatedSet& group : result.groups) {
    if (group.members.size() != 2) continue;
    any = true;
    const std::size_t a = group.members[0], b = group.members[1];
    const auto slowdown = [&](std::size_t i) {
      const auto& speed = group.speeds[i];
      return speed && *speed > 0 ? std::optional(1 / *speed) : std::nullopt;
    };
    const bool measured = group.state == CellState::kDone;
    if (a == b) {
      const auto one = slowdown(0), two = slowdown(1);
      matrix[a][a] = {measured, group.fits,
                      one && two ? std::optional((*one + *two) / 2) : std::nullopt};
    } else {
      matrix[a][b] = {measured, group.fits, slowdown(0)};
      matrix[b][a] = {measured, group.fits, slowdown(1)};
    }
  }
  if (!any) matrix.clear();
  return matrix;
}

std::string ColocateTable(const ColocateResult& result) {
  std::string text = fmt::format(
      "{} on {}\n\n{}", result.name,
      result.gpu.empty()
          ? fmt::format("{}, no GPU: what is measured is the host",
                        core::Cores(static_cast<double>(result.cores)))
          : fmt::format("{}, {}", result.gpu, result.mps ? "under CUDA MPS" : "time-sliced"),
      AloneTable(result));
  text += MatrixTable(result);
  text += LargerSets(result);
  text += "\n";
  text += NamedFits(
      result, Packing::kComplementary,
      fmt::format("complementary (each keeps {} of its speed)", Percent(measure::kKeepsSpeed)));
  text += NamedFits(result, Packing::kConflicting,
                    "conflicting (one fares worse than by taking turns)");
  text += NamedFits(result, Packing::kDoesNotFit, "do not fit into memory together");
  for (const ColocatedSet& group : result.groups) {
    if (group.why.empty() || !group.fits) continue;
    text += fmt::format("{}: {}: {}\n", MembersText(result, group),
                        group.state == CellState::kLeftOut ? "left out" : "failed", group.why);
  }
  for (const measure::AloneRun& alone : result.alone) {
    if (!alone.why.empty()) text += fmt::format("{} alone: failed: {}\n", alone.name, alone.why);
  }
  for (const std::string& note : result.notes) text += note + "\n";
  return text;
}

}  // namespace sharewell::report
