#include "report/simulation/simulation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "report/simulation/best_for_whom.h"
#include "report/simulation/group_times.h"
#include "report/simulation/project_times.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using simulation::Summary;
using Scores = simulation::StartsScores;

constexpr double kTwoDigitsBelow = 10;
constexpr double kOneDigitBelow = 1000;

std::string Time(double seconds) { return Duration(core::Seconds(seconds)); }
std::string Count(double n) { return Number(n, 0); }
std::string Amount(double value) {
  return Number(value, value < kTwoDigitsBelow ? 2 : value < kOneDigitBelow ? 1 : 0);
}
std::string ThreeDigits(double value) { return Number(value, 3); }

using Figure = std::optional<double>;

Figure Whole(std::uint64_t n) { return static_cast<double>(n); }
Figure Simulated(const Summary& s, std::uint64_t n) { return s.history ? Figure() : Whole(n); }

// Of expected starts: for how many of how many that waited it was told, and by how much of the wait
// it was wrong.
bool HasStarts(const Summary& s) { return s.starts.has_value(); }
Figure ToldPart(const Summary& s, simulation::StartsScore Scores::*which) {
  if (!s.starts || (*s.starts.*which).scored == 0) return {};
  const simulation::StartsScore& score = *s.starts.*which;
  return static_cast<double>(score.told) / static_cast<double>(score.scored);
}
Figure Waited(const Summary& s, simulation::StartsScore Scores::*which) {
  return s.starts ? Whole((*s.starts.*which).scored) : Figure();
}
Figure Error(const Summary& s, simulation::StartsScore Scores::*which) {
  return s.starts ? (*s.starts.*which).error_median : Figure();
}
Figure FarError(const Summary& s, simulation::StartsScore Scores::*which) {
  return s.starts ? (*s.starts.*which).error_p90 : Figure();
}

struct Line {
  std::string_view label;  // empty: a gap between groups
  Figure (*value)(const Summary&);
  std::string (*text)(double);
  bool (*shown)(const Summary&) = nullptr;  // absent: always; else where it holds for any policy
};

const std::vector<Line>& Lines() {
  static const std::vector<Line> lines = {
      {"jobs finished", [](const Summary& s) { return Whole(s.finished); }, Count},
      {"jobs failed", [](const Summary& s) { return Whole(s.failed); }, Count,
       [](const Summary& s) { return s.failed > 0; }},
      {"jobs infeasible", [](const Summary& s) { return Whole(s.infeasible); }, Count,
       [](const Summary& s) { return s.infeasible > 0; }},
      {"jobs unfinished", [](const Summary& s) { return Whole(s.unfinished); }, Count,
       [](const Summary& s) { return s.unfinished > 0; }},
      {"makespan", [](const Summary& s) { return s.makespan; }, Time},
      {"over the optimum", [](const Summary& s) { return s.distance_from_optimal; }, Percent,
       [](const Summary& s) { return s.distance_from_optimal.has_value(); }},
      {"over the bound with sharing",
       [](const Summary& s) { return s.distance_from_shared_optimum; }, Percent,
       [](const Summary& s) { return s.distance_from_shared_optimum.has_value(); }},
      {"", nullptr, nullptr},
      {"completion time, mean", [](const Summary& s) { return s.jct.mean; }, Time},
      {"  median", [](const Summary& s) { return s.jct.p50; }, Time},
      {"  95th percentile", [](const Summary& s) { return s.jct.p95; }, Time},
      {"  99th percentile", [](const Summary& s) { return s.jct.p99; }, Time},
      {"queueing, mean", [](const Summary& s) { return s.queueing.mean; }, Time},
      {"  95th percentile", [](const Summary& s) { return s.queueing.p95; }, Time},
      {"run time, mean", [](const Summary& s) { return s.run.mean; }, Time},
      {"slowdown by neighbours, mean", [](const Summary& s) { return s.slowdown_mean; }, Times},
      {"  95th percentile", [](const Summary& s) { return s.slowdown_p95; }, Times},
      {"", nullptr, nullptr},
      {"GPU busy", [](const Summary& s) { return s.busy; }, Percent},
      {"GPU allocated", [](const Summary& s) { return s.allocated; }, Percent},
      {"SM active", [](const Summary& s) { return s.sm; }, Percent},
      {"GPU hours", [](const Summary& s) { return Figure(s.gpu_hours); }, Amount},
      {"energy, kWh", [](const Summary& s) { return s.energy_kwh; }, Amount},
      {"CPU cores reserved", [](const Summary& s) { return s.cores_reserved; }, Amount},
      {"CPU cores used", [](const Summary& s) { return s.cores_used; }, Amount},
      {"", nullptr, nullptr},
      {"out of memory", [](const Summary& s) { return Simulated(s, s.ooms); }, Count},
      {"resubmissions", [](const Summary& s) { return Simulated(s, s.resubmissions); }, Count},
      {"moves and preemptions", [](const Summary& s) { return Simulated(s, s.moves); }, Count},
      {"  stopped for a project below its share",
       [](const Summary& s) { return s.reclaims ? Whole(*s.reclaims) : Figure(); }, Count,
       [](const Summary& s) { return s.reclaims.has_value(); }},
      {"evictions", [](const Summary& s) { return s.evictions ? Whole(*s.evictions) : Figure(); },
       Count, [](const Summary& s) { return s.evictions.has_value(); }},
      {"  GPU hours lost to them", [](const Summary& s) { return s.evicted_gpu_hours; }, Amount,
       [](const Summary& s) { return s.evictions.has_value(); }},
      {"fairness of users (Jain)", [](const Summary& s) { return s.jain; }, ThreeDigits},
      {"finish-time fairness, worst", [](const Summary& s) { return s.finish_time_fairness; },
       Times},
      {"starts told, durations as believed",
       [](const Summary& s) { return ToldPart(s, &Scores::believed); }, Percent, HasStarts},
      {"  of how many that waited", [](const Summary& s) { return Waited(s, &Scores::believed); },
       Count, HasStarts},
      {"  error of the wait, median", [](const Summary& s) { return Error(s, &Scores::believed); },
       Percent, HasStarts},
      {"  90th percentile", [](const Summary& s) { return FarError(s, &Scores::believed); },
       Percent, HasStarts},
      {"starts told, durations known", [](const Summary& s) { return ToldPart(s, &Scores::known); },
       Percent, HasStarts},
      {"  of how many that waited", [](const Summary& s) { return Waited(s, &Scores::known); },
       Count, HasStarts},
      {"  error of the wait, median", [](const Summary& s) { return Error(s, &Scores::known); },
       Percent, HasStarts},
      {"  90th percentile", [](const Summary& s) { return FarError(s, &Scores::known); }, Percent,
       HasStarts},
      {"starts told, durations unknown",
       [](const Summary& s) { return ToldPart(s, &Scores::unknown); }, Percent, HasStarts},
      {"  of how many that waited", [](const Summary& s) { return Waited(s, &Scores::unknown); },
       Count, HasStarts},
      {"  error of the wait, median", [](const Summary& s) { return Error(s, &Scores::unknown); },
       Percent, HasStarts},
      {"  90th percentile", [](const Summary& s) { return FarError(s, &Scores::unknown); }, Percent,
       HasStarts},
      {"", nullptr, nullptr},
      {"decision, median", [](const Summary& s) { return s.decision_p50; }, Time},
      {"  99th percentile", [](const Summary& s) { return s.decision_p99; }, Time},
      {"jobs a CPU second", [](const Summary& s) { return s.jobs_per_cpu_second; }, Count},
  };
  return lines;
}

bool IsShown(const Line& line, const std::vector<PolicyRuns>& policies) {
  if (line.shown == nullptr) return true;
  for (const PolicyRuns& runs : policies) {
    for (const Summary* summary : runs) {
      if (line.shown(*summary)) return true;
    }
  }
  return false;
}

std::string CellOf(const Line& line, const PolicyRuns& runs) {
  std::vector<Figure> values;
  for (const Summary* summary : runs) values.push_back(line.value(*summary));
  return SpreadText(values, line.text);
}

// Of each policy, its groups by seed.
std::vector<GroupRuns> GroupsOf(const std::vector<PolicyRuns>& policies,
                                std::vector<simulation::GroupTimes> Summary::*which) {
  std::vector<GroupRuns> out;
  for (const PolicyRuns& runs : policies) {
    GroupRuns& groups = out.emplace_back();
    for (const Summary* summary : runs) groups.push_back(&(summary->*which));
  }
  return out;
}

std::vector<std::string> NamesOf(const std::vector<PolicyRuns>& policies) {
  std::vector<std::string> names;
  for (const PolicyRuns& runs : policies) names.push_back(runs.front()->policy);
  return names;
}

// All figures of these policies: rows without a label are gaps.
std::vector<SummaryRow> RowsOf(const std::vector<PolicyRuns>& all,
                               const std::vector<PolicyRuns>& policies) {
  std::vector<SummaryRow> rows;
  for (const Line& line : Lines()) {
    if (!IsShown(line, all)) continue;
    SummaryRow& row = rows.emplace_back(SummaryRow{std::string(line.label), {}});
    for (const PolicyRuns& runs : policies) {
      if (line.value != nullptr) row.cells.push_back(CellOf(line, runs));
    }
  }
  return rows;
}

Table TableOf(const std::vector<PolicyRuns>& policies, const std::vector<SummaryRow>& rows) {
  std::vector<std::pair<std::string, Align>> columns = {{"", Align::kLeft}};
  for (const std::string& name : NamesOf(policies)) columns.emplace_back(name, Align::kRight);
  Table table(columns);
  for (const SummaryRow& row : rows) {
    if (row.label.empty()) {
      table.Gap();
      continue;
    }
    std::vector<std::string> cells = {row.label};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.Row(std::move(cells));
  }
  return table;
}

// Policies that do not fit beside each other stand below each other. `rows` makes those of some.
template <class Rows>
std::string TablesWithin(const std::vector<PolicyRuns>& policies, std::size_t width,
                         const Rows& rows) {
  std::string out;
  for (std::size_t begin = 0; begin < policies.size();) {
    const auto part = [&](std::size_t end) {
      const std::vector<PolicyRuns> some(policies.begin() + static_cast<std::ptrdiff_t>(begin),
                                         policies.begin() + static_cast<std::ptrdiff_t>(end));
      return TableOf(some, rows(some));
    };
    std::size_t end = begin + 1;
    while (end < policies.size() && part(end + 1).Width() <= width) ++end;
    if (begin > 0) out += '\n';
    out += part(end).Text();
    begin = end;
  }
  return out;
}

}  // namespace

std::vector<PolicyRuns> RunsOf(const SimulationReport& report) {
  std::vector<PolicyRuns> policies(report.results.size());
  for (std::size_t p = 0; p < policies.size(); ++p) {
    if (report.seeds.empty()) policies[p].push_back(&report.results[p]);
    for (const simulation::SeedResults& seed : report.seeds)
      policies[p].push_back(&seed.results[p]);
  }
  return policies;
}

std::vector<SummaryRow> SummaryRows(const std::vector<Summary>& results) {
  std::vector<PolicyRuns> policies;
  for (const Summary& summary : results) policies.push_back({&summary});
  std::vector<SummaryRow> rows = RowsOf(policies, policies);
  std::erase_if(rows, [](const SummaryRow& row) { return row.label.empty(); });
  for (SummaryRow& row : SizeRows(GroupsOf(policies, &Summary::by_size))) {
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string InWords(const core::Cluster& cluster) {
  std::string text;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int count = cluster.CountOf(core::GpuModelId(m));
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count, cluster.models()[m].name);
  }
  if (text.empty()) text = "no GPUs";
  const std::size_t nodes = cluster.nodes().size();
  return fmt::format("{} on {} node{}", text, nodes, nodes == 1 ? "" : "s");
}

std::string SimulationTable(const SimulationReport& report, std::size_t width) {
  const std::size_t jobs = report.results.empty() ? 0 : report.results.front().jobs;
  const std::vector<PolicyRuns> policies = RunsOf(report);
  const std::string seeds = report.seeds.empty()
                                ? fmt::format("seed {}", report.seed)
                                : fmt::format("seeds {} to {}, mean ± standard deviation",
                                              report.seeds.front().seed, report.seeds.back().seed);
  std::string out;
  if (!report.told.empty()) out += Wrapped(report.told, width, 2) + "\n\n";
  const std::size_t before = out.size();
  for (const std::string& line : BestForWhom(policies)) out += Wrapped(line, width, 2) + '\n';
  if (out.size() > before) out += '\n';
  out += Wrapped(fmt::format("{} job{}; {}; belief {}, durations {}, {}",
                             Count(static_cast<double>(jobs)), jobs == 1 ? "" : "s",
                             report.machines, report.belief, report.durations, seeds),
                 width, 2) +
         "\n\n";
  out += TablesWithin(policies, width, [&](const auto& some) { return RowsOf(policies, some); });
  const auto by_size = [](const auto& some) { return SizeRows(GroupsOf(some, &Summary::by_size)); };
  if (!by_size(policies).empty()) out += '\n' + TablesWithin(policies, width, by_size);
  std::vector<ProjectRuns> projects;
  for (const PolicyRuns& runs : policies) {
    ProjectRuns& of = projects.emplace_back();
    for (const Summary* summary : runs) of.push_back(&summary->by_project);
  }
  const std::string by_project = ProjectsText(NamesOf(policies), projects, width);
  if (!by_project.empty()) out += '\n' + by_project;
  const std::string users =
      UsersText(NamesOf(policies), GroupsOf(policies, &Summary::by_user), width);
  if (!users.empty()) out += '\n' + users;
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) {
    out += Wrapped("note: " + note, width, 6) + '\n';
  }
  return out;
}

}  // namespace sharewell::report
