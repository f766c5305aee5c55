#include "report/html/simulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/html/page.h"
#include "report/html/simulation_gains.h"
#include "report/html/simulation_gantt.h"
#include "report/simulation/best_for_whom.h"
#include "report/simulation/simulation_table.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using simulation::PolicyResult;
using simulation::SimulatedJob;
using simulation::SimulationResults;
using simulation::Summary;

constexpr std::size_t kMostCurvePoints = 200, kMostPolicyLines = 36;
constexpr std::size_t kMostUsers = 100, kMostGanttPolicies = 4;
constexpr std::size_t kMostBarLabel = 20;
constexpr double kShortest = 1e-3;  // seconds: below it an axis has no labels

struct SpanUnit {
  const char* name;
  double seconds;
};

SpanUnit UnitOf(double seconds) {
  if (seconds <= 600) return {"seconds", 1};
  if (seconds <= 5 * 3600) return {"minutes", 60};
  if (seconds <= 4 * 86400) return {"hours", 3600};
  return {"days", 86400};
}

// The share of jobs that were done within each time; at most so many points.
template <class Words>
ChartLine CurveOf(const std::string& policy, std::vector<double> values, const SpanUnit& unit,
                  Words words) {
  ChartLine line{policy, {}, {}};
  std::sort(values.begin(), values.end());
  const std::size_t points = std::min(values.size(), kMostCurvePoints);
  for (std::size_t i = 1; i <= points; ++i) {
    const std::size_t upto = values.size() * i / points;
    const double share = 100.0 * static_cast<double>(upto) / static_cast<double>(values.size());
    line.points.push_back(
        {values[upto - 1] / unit.seconds, share, 0,
         fmt::format("{}: {:.1f} % within {}", policy, share, words(values[upto - 1]))});
  }
  return line;
}

template <class Value>
std::optional<LineChart> CurvesOf(const SimulationResults& results, const std::string& title,
                                  Value value) {
  double most = 0;
  std::vector<std::pair<std::string, std::vector<double>>> all;
  for (const PolicyResult& policy : results.policies) {
    std::vector<double> values;
    for (const SimulatedJob& job : policy.jobs) {
      if (const std::optional<double> v = value(job)) values.push_back(std::max(0.0, *v));
    }
    if (values.empty() || all.size() == kMostPolicyLines) continue;
    most = std::max(most, *std::max_element(values.begin(), values.end()));
    all.emplace_back(policy.summary.policy, std::move(values));
  }
  if (all.empty()) return std::nullopt;
  most = std::max(most, kShortest);
  const SpanUnit unit = UnitOf(most);
  LineChart chart;
  chart.title = title;
  chart.subtitle = "share of jobs up to each time; further left is better";
  chart.x = AxisUpTo(unit.name, most / unit.seconds);
  chart.y = {"jobs, %", 0, 100};
  for (auto& [policy, values] : all) {
    chart.lines.push_back(CurveOf(policy, std::move(values), unit,
                                  [](double v) { return Duration(core::Seconds(v)); }));
  }
  return chart;
}

// Time running over time alone, of each job: from 1 on.
std::optional<LineChart> SlowdownsOf(const SimulationResults& results) {
  LineChart chart;
  chart.title = "slowdown by neighbours";
  chart.subtitle = "share of jobs up to each slowdown; further left is better";
  double most = 1.1;
  for (const PolicyResult& policy : results.policies) {
    std::vector<double> values;
    for (const SimulatedJob& job : policy.jobs) {
      if (job.slowdown) values.push_back(std::max(1.0, *job.slowdown));
    }
    if (values.empty() || chart.lines.size() == kMostPolicyLines) continue;
    most = std::max(most, *std::max_element(values.begin(), values.end()));
    chart.lines.push_back(CurveOf(policy.summary.policy, std::move(values), {"", 1},
                                  [](double v) { return Times(v); }));
  }
  if (chart.lines.empty()) return std::nullopt;
  chart.x = {"times the time alone", 1, most};
  chart.y = {"jobs, %", 0, 100};
  return chart;
}

// How many jobs wait at each time.
std::optional<LineChart> WaitingOf(const SimulationResults& results) {
  double from = 0, to = 0;
  bool any = false;
  const auto reach = [&](double at) {
    from = any ? std::min(from, at) : at;
    to = any ? std::max(to, at) : at;
    any = true;
  };
  for (const PolicyResult& policy : results.policies) {
    for (const SimulatedJob& job : policy.jobs) {
      reach(job.submit);
      if (job.start) reach(*job.start);
      if (job.finish) reach(*job.finish);
    }
  }
  if (!any || to - from < kShortest) return std::nullopt;
  const SpanUnit unit = UnitOf(to - from);
  LineChart chart;
  chart.title = "jobs that wait";
  chart.subtitle = "submitted and not yet started; what can never run is left out";
  double most = 0;
  for (const PolicyResult& policy : results.policies) {
    if (policy.jobs.empty() || chart.lines.size() == kMostPolicyLines) continue;
    std::vector<double> submits, starts;
    for (const SimulatedJob& job : policy.jobs) {
      if (job.end == "infeasible") continue;
      submits.push_back(job.submit);
      if (job.start) starts.push_back(*job.start);
    }
    std::sort(submits.begin(), submits.end());
    std::sort(starts.begin(), starts.end());
    ChartLine line{policy.summary.policy, {}, {}};
    for (std::size_t i = 0; i <= kMostCurvePoints; ++i) {
      const double at = from + (to - from) * static_cast<double>(i) / kMostCurvePoints;
      const auto before = [at](const std::vector<double>& times) {
        return std::upper_bound(times.begin(), times.end(), at) - times.begin();
      };
      const auto waiting = static_cast<double>(before(submits) - before(starts));
      most = std::max(most, waiting);
      line.points.push_back({(at - from) / unit.seconds, waiting, 0, ""});
    }
    chart.lines.push_back(std::move(line));
  }
  chart.x = {fmt::format("{} since the first submission", unit.name), 0,
             (to - from) / unit.seconds};
  chart.y = AxisUpTo("jobs", most);
  return chart;
}

Bars BarsOf(const SimulationResults& results) {
  Bars bars;
  bars.title = "the policies side by side";
  bars.subtitle = "shorter is better in all of them";
  const auto panel = [&](const char* title, auto figure, auto shown) {
    BarPanel one{title, {}};
    for (const PolicyResult& policy : results.policies) {
      const std::optional<double> value = figure(policy.summary);
      const std::string label = policy.summary.policy.size() > kMostBarLabel
                                    ? policy.summary.policy.substr(0, kMostBarLabel - 3) + "..."
                                    : policy.summary.policy;
      one.bars.push_back({label, value.value_or(0), value ? shown(*value) : "unknown"});
    }
    bars.panels.push_back(std::move(one));
  };
  const auto time = [](double s) { return Duration(core::Seconds(s)); };
  panel(
      "completion time, mean", [](const Summary& s) { return s.jct.mean; }, time);
  panel(
      "waiting, mean", [](const Summary& s) { return s.queueing.mean; }, time);
  panel(
      "makespan", [](const Summary& s) { return s.makespan; }, time);
  return bars;
}

void AddRun(HtmlPage& page, const SimulationResults& results) {
  const std::size_t jobs = results.policies.front().summary.jobs;
  page.Facts(
      {{"trace", results.trace.empty() ? "unknown" : results.trace},
       {"cluster", results.cluster.empty() ? "unknown" : results.cluster},
       {"jobs", fmt::format("{}", jobs)},
       {"the policy knows what jobs need", results.belief.empty() ? "unknown" : results.belief},
       {"and how long they take", results.durations.empty() ? "unknown" : results.durations},
       {"seed", results.seed ? fmt::format("{}", *results.seed) : "unknown"}});
  HtmlTable table{{{"", Align::kLeft}}, {}};
  std::vector<Summary> summaries;
  for (const PolicyResult& policy : results.policies) {
    summaries.push_back(policy.summary);
    table.columns.emplace_back(policy.summary.policy, Align::kRight);
  }
  for (SummaryRow& row : SummaryRows(summaries)) {
    const bool part = row.label.starts_with("  ");
    std::vector<std::string> cells = {part ? "– " + row.label.substr(2) : row.label};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.rows.push_back(std::move(cells));
  }
  page.Rows(table);
}

// "sharewell has the least mean completion time, 2h 10m: 31 % below slot."
void OpenSimulation(HtmlPage& page, const SimulationResults& results) {
  const Summary* best = nullptr;
  for (const PolicyResult& policy : results.policies) {
    const Summary& summary = policy.summary;
    if (!IsChoice(summary) || !summary.jct.mean) continue;
    if (best == nullptr || *summary.jct.mean < *best->jct.mean) best = &summary;
  }
  if (best == nullptr) return page.Opens("No job finished under any policy.", {});
  const auto time = [](double s) { return Duration(core::Seconds(s)); };
  const Summary& first = results.policies.front().summary;
  std::string sentence = fmt::format("{} finishes jobs soonest, after {} on average", best->policy,
                                     time(*best->jct.mean));
  if (best != &first && first.jct.mean && *first.jct.mean > 0) {
    sentence +=
        fmt::format(": {} below {}", Percent(1 - *best->jct.mean / *first.jct.mean), first.policy);
  } else if (results.policies.size() > 1) {
    sentence += ": no other policy does better";
  }
  page.Opens(sentence + ".", {{time(*best->jct.mean), "mean completion"},
                              {Or(best->queueing.mean, time), "mean wait"},
                              {Or(best->makespan, time), "makespan"}});
}

}  // namespace

std::string SimulationPage(const SimulationResults& results, std::string_view made) {
  HtmlPage page(
      "Simulation of " + results.trace,
      core::Count(results.policies.size(), "policy", "policies") + " on the same jobs and machines",
      made);
  OpenSimulation(page, results);
  page.Section("The policies side by side");
  AddRun(page, results);
  page.Chart("policies", "Mean completion time, mean waiting and makespan of each policy.",
             BarsOf(results));
  page.Section("How long jobs take");
  const auto jct =
      CurvesOf(results, "completion time", [](const SimulatedJob& job) { return job.jct; });
  const auto queue =
      CurvesOf(results, "waiting", [](const SimulatedJob& job) { return job.queue; });
  if (jct) page.Chart("completion-time", "From submission to the end, of finished jobs.", *jct);
  if (queue) page.Chart("waiting-time", "From submission to the first start.", *queue);
  if (const auto slowdowns = SlowdownsOf(results)) {
    page.Chart("slowdown", "Time running over the time that it would have taken alone.",
               *slowdowns);
  }
  if (const auto waiting = WaitingOf(results)) {
    page.Chart("jobs-waiting", "How many jobs wait, over the time of the trace.", *waiting);
  }
  if (!jct && !queue) {
    page.Quiet("Unknown: the folder has no jobs-POLICY.csv with jobs that started.");
  }
  page.Section("What ran where");
  std::size_t drawn = 0;
  for (const PolicyResult& policy : results.policies) {
    if (drawn == kMostGanttPolicies) break;
    const auto gantt = SimulationGantt(policy);
    if (!gantt) continue;
    ++drawn;
    page.Chart("gpus-" + policy.summary.policy,
               fmt::format("Which user's jobs each GPU held under {}; jobs that share a GPU share "
                           "its row.",
                           policy.summary.policy),
               *gantt);
  }
  if (drawn == 0) page.Quiet("Not drawn: no decisions were written, or there are too many GPUs.");
  if (drawn == kMostGanttPolicies && results.policies.size() > drawn) {
    page.Quiet(fmt::format("Only the first {} policies are drawn.", drawn));
  }
  page.Section("Who gains and who loses");
  page.Text(results.policies.size() > 1
                ? fmt::format("Means of each user. The last column of a policy is its completion "
                              "time over that under {}: below 100 % the user gains.",
                              results.policies.front().summary.policy)
                : "Means of each user.");
  page.Rows(UsersUnderPolicies(results), kMostUsers);
  for (const PolicyGains& gains : GainsUnderPolicies(results)) {
    page.Text(gains.words);
    if (!gains.jobs.rows.empty()) page.Rows(gains.jobs);
  }
  if (!results.notes.empty()) {
    page.Section("Notes");
    page.Listed(results.notes);
  }
  return std::move(page).Take();
}

}  // namespace sharewell::report
