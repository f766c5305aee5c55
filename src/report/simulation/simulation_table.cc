#include "report/simulation/simulation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using study::Summary;

constexpr double kTwoDigitsBelow = 10;
constexpr double kOneDigitBelow = 1000;

std::string Time(const std::optional<double>& seconds) {
  return Or(seconds, [](double s) { return Duration(core::Seconds(s)); });
}
std::string Share(const std::optional<double>& ratio) { return Or(ratio, Percent); }
std::string Ratio(const std::optional<double>& ratio) { return Or(ratio, Times); }
std::string Count(double n) { return Number(n, 0); }
std::string Amount(const std::optional<double>& value) {
  return Or(value, [](double v) {
    return Number(v, v < kTwoDigitsBelow ? 2 : v < kOneDigitBelow ? 1 : 0);
  });
}

std::string Simulated(const Summary& s, std::uint64_t n) {
  return s.history ? std::string(kUnknown) : Count(static_cast<double>(n));
}

struct Line {
  std::string_view label;  // empty: a gap between groups
  std::function<std::string(const Summary&)> text;
  std::function<bool(const Summary&)> shown =
      {};  // absent: always; else where it holds for any policy
};

const std::vector<Line>& Lines() {
  static const std::vector<Line> lines = {
      {"jobs finished", [](const Summary& s) { return Count(static_cast<double>(s.finished)); }},
      {"jobs failed", [](const Summary& s) { return Count(static_cast<double>(s.failed)); },
       [](const Summary& s) { return s.failed > 0; }},
      {"jobs infeasible", [](const Summary& s) { return Count(static_cast<double>(s.infeasible)); },
       [](const Summary& s) { return s.infeasible > 0; }},
      {"jobs unfinished", [](const Summary& s) { return Count(static_cast<double>(s.unfinished)); },
       [](const Summary& s) { return s.unfinished > 0; }},
      {"makespan", [](const Summary& s) { return Time(s.makespan); }},
      {"over the optimum", [](const Summary& s) { return Share(s.distance_from_optimal); },
       [](const Summary& s) { return s.distance_from_optimal.has_value(); }},
      {"over the bound with sharing",
       [](const Summary& s) { return Share(s.distance_from_shared_optimum); },
       [](const Summary& s) { return s.distance_from_shared_optimum.has_value(); }},
      {"", {}},
      {"completion time, mean", [](const Summary& s) { return Time(s.jct.mean); }},
      {"  median", [](const Summary& s) { return Time(s.jct.p50); }},
      {"  95th percentile", [](const Summary& s) { return Time(s.jct.p95); }},
      {"  99th percentile", [](const Summary& s) { return Time(s.jct.p99); }},
      {"queueing, mean", [](const Summary& s) { return Time(s.queueing.mean); }},
      {"  95th percentile", [](const Summary& s) { return Time(s.queueing.p95); }},
      {"run time, mean", [](const Summary& s) { return Time(s.run.mean); }},
      {"slowdown by neighbours, mean", [](const Summary& s) { return Ratio(s.slowdown_mean); }},
      {"  95th percentile", [](const Summary& s) { return Ratio(s.slowdown_p95); }},
      {"", {}},
      {"GPU busy", [](const Summary& s) { return Share(s.busy); }},
      {"GPU allocated", [](const Summary& s) { return Share(s.allocated); }},
      {"SM active", [](const Summary& s) { return Share(s.sm); }},
      {"GPU hours", [](const Summary& s) { return Amount(s.gpu_hours); }},
      {"energy, kWh", [](const Summary& s) { return Amount(s.energy_kwh); }},
      {"CPU cores reserved", [](const Summary& s) { return Amount(s.cores_reserved); }},
      {"CPU cores used", [](const Summary& s) { return Amount(s.cores_used); }},
      {"", {}},
      {"out of memory", [](const Summary& s) { return Simulated(s, s.ooms); }},
      {"resubmissions", [](const Summary& s) { return Simulated(s, s.resubmissions); }},
      {"moves and preemptions", [](const Summary& s) { return Simulated(s, s.moves); }},
      {"evictions",
       [](const Summary& s) {
         return s.evictions ? Count(static_cast<double>(*s.evictions)) : std::string(kUnknown);
       },
       [](const Summary& s) { return s.evictions.has_value(); }},
      {"  GPU hours lost to them", [](const Summary& s) { return Amount(s.evicted_gpu_hours); },
       [](const Summary& s) { return s.evictions.has_value(); }},
      {"fairness of users (Jain)",
       [](const Summary& s) { return Or(s.jain, [](double v) { return Number(v, 3); }); }},
      {"finish-time fairness, worst",
       [](const Summary& s) { return Ratio(s.finish_time_fairness); }},
      {"", {}},
      {"decision, median", [](const Summary& s) { return Time(s.decision_p50); }},
      {"  99th percentile", [](const Summary& s) { return Time(s.decision_p99); }},
      {"jobs a CPU second", [](const Summary& s) { return Or(s.jobs_per_cpu_second, Count); }},
  };
  return lines;
}

Table TableOf(const SimulationReport& report, std::size_t begin, std::size_t end) {
  std::vector<std::pair<std::string, Align>> columns = {{"", Align::kLeft}};
  for (std::size_t i = begin; i < end; ++i) {
    columns.emplace_back(report.results[i].policy, Align::kRight);
  }
  Table table(columns);
  const auto& all = report.results;
  for (const Line& line : Lines()) {
    if (line.label.empty()) {
      table.Gap();
      continue;
    }
    if (line.shown && std::none_of(all.begin(), all.end(), line.shown)) continue;
    std::vector<std::string> cells = {std::string(line.label)};
    for (std::size_t i = begin; i < end; ++i) cells.push_back(line.text(all[i]));
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace

std::vector<SummaryRow> SummaryRows(const std::vector<Summary>& results) {
  std::vector<SummaryRow> rows;
  for (const Line& line : Lines()) {
    if (line.label.empty()) continue;
    if (line.shown && std::none_of(results.begin(), results.end(), line.shown)) continue;
    SummaryRow row{std::string(line.label), {}};
    for (const Summary& summary : results) row.cells.push_back(line.text(summary));
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
  std::string out =
      Wrapped(fmt::format("{} job{}; {}; belief {}, durations {}, seed {}",
                          Count(static_cast<double>(jobs)), jobs == 1 ? "" : "s", report.machines,
                          report.belief, report.durations, report.seed),
              width, 2) +
      "\n\n";
  for (std::size_t begin = 0; begin < report.results.size();) {
    std::size_t end = begin + 1;
    while (end < report.results.size() && TableOf(report, begin, end + 1).Width() <= width) ++end;
    if (begin > 0) out += '\n';
    out += TableOf(report, begin, end).Text();
    begin = end;
  }
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) {
    out += Wrapped("note: " + note, width, 6) + '\n';
  }
  return out;
}

}  // namespace sharewell::report
