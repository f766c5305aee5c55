#include "report/simulation/group_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/text/format.h"
#include "report/text/table.h"
#include "simulation/spread.h"

namespace sharewell::report {
namespace {

using simulation::GroupTimes;

constexpr std::size_t kUsersAtEachEnd = 3;

std::string GroupTime(double seconds) { return Duration(core::Seconds(seconds)); }

std::vector<std::optional<double>> OverSeeds(const GroupRuns& runs, std::string_view name,
                                             std::optional<double> GroupTimes::*of) {
  std::vector<std::optional<double>> values;
  for (const auto* groups : runs) {
    const GroupTimes* group = FindGroup(*groups, name);
    values.push_back(group != nullptr ? group->*of : std::nullopt);
  }
  return values;
}

// Under the last policy, by mean wait over its seeds, longest first.
std::vector<std::string> ByWait(const GroupRuns& last) {
  std::map<std::string_view, double> sums;
  for (const auto* groups : last) {
    for (const GroupTimes& user : *groups) {
      if (user.wait_mean) sums[user.name] += *user.wait_mean;
    }
  }
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [name, sum] : sums) ranked.emplace_back(-sum, name);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (auto& [wait, name] : ranked) names.push_back(std::move(name));
  return names;
}

Table UsersTable(const std::vector<std::string>& names, const std::vector<GroupRuns>& policies,
                 const std::vector<std::string>& users, std::size_t begin, std::size_t end) {
  std::vector<std::pair<std::string, Align>> columns = {{"user", Align::kLeft},
                                                        {"jobs", Align::kRight}};
  for (std::size_t p = begin; p < end; ++p) {
    columns.emplace_back(names[p] + ", wait", Align::kRight);
    columns.emplace_back("completion", Align::kRight);
  }
  Table table(columns);
  for (std::size_t u = 0; u < users.size(); ++u) {
    if (u >= kUsersAtEachEnd && u + kUsersAtEachEnd < users.size()) {
      if (u == kUsersAtEachEnd) table.Gap();
      continue;
    }
    const GroupTimes* first = FindGroup(*policies.back().front(), users[u]);
    std::vector<std::string> cells = {
        users[u].empty() ? "(not stated)" : users[u],
        first != nullptr ? Number(static_cast<double>(first->jobs), 0) : kUnknown};
    for (std::size_t p = begin; p < end; ++p) {
      for (const auto of : {&GroupTimes::wait_mean, &GroupTimes::jct_mean}) {
        cells.push_back(SpreadText(OverSeeds(policies[p], users[u], of), GroupTime));
      }
    }
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace

const std::vector<GroupFigure>& GroupFigures() {
  static const std::vector<GroupFigure> figures = {
      {"wait_mean_seconds", "  wait, mean", &GroupTimes::wait_mean},
      {"wait_p99_seconds", "  wait, 99th percentile", &GroupTimes::wait_p99},
      {"jct_mean_seconds", "  completion time, mean", &GroupTimes::jct_mean},
      {"jct_p99_seconds", "  completion time, 99th percentile", &GroupTimes::jct_p99},
  };
  return figures;
}

const GroupTimes* FindGroup(const std::vector<GroupTimes>& groups, std::string_view name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const GroupTimes& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::string SpreadText(const std::vector<std::optional<double>>& values,
                       const std::function<std::string(double)>& format) {
  const auto spread = simulation::SpreadOf(values);
  if (!spread) return kUnknown;
  if (values.size() == 1) return format(spread->mean);
  return format(spread->mean) + " ± " + format(spread->deviation);
}

std::vector<SummaryRow> SizeRows(const std::vector<GroupRuns>& policies) {
  std::vector<SummaryRow> rows;
  for (const simulation::JobSize& size : simulation::kSizes) {
    SummaryRow jobs{"jobs, " + std::string(size.in_words), {}};
    bool any = false;
    for (const GroupRuns& runs : policies) {
      const GroupTimes* group = FindGroup(*runs.front(), size.name);
      any = any || group != nullptr;
      jobs.cells.push_back(group != nullptr ? Number(static_cast<double>(group->jobs), 0)
                                            : kUnknown);
    }
    if (!any) continue;
    rows.push_back(std::move(jobs));
    for (const GroupFigure& figure : GroupFigures()) {
      SummaryRow row{std::string(figure.label), {}};
      for (const GroupRuns& runs : policies) {
        row.cells.push_back(SpreadText(OverSeeds(runs, size.name, figure.of), GroupTime));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string UsersText(const std::vector<std::string>& names, const std::vector<GroupRuns>& policies,
                      std::size_t width) {
  if (policies.empty()) return {};
  const std::vector<std::string> users = ByWait(policies.back());
  if (users.size() < 2) return {};
  std::string text =
      Wrapped(fmt::format("users who wait longest{} under {}: mean wait and mean completion time",
                          users.size() > kUsersAtEachEnd ? " and shortest" : "", names.back()),
              width, 2);
  text += "\n\n";
  for (std::size_t begin = 0; begin < policies.size();) {
    std::size_t end = begin + 1;
    while (end < policies.size() &&
           UsersTable(names, policies, users, begin, end + 1).Width() <= width) {
      ++end;
    }
    if (begin > 0) text += '\n';
    text += UsersTable(names, policies, users, begin, end).Text();
    begin = end;
  }
  return text;
}

void WriteGroups(json::Writer& out, std::string_view key, std::string_view name,
                 const std::vector<GroupTimes>& groups) {
  out.List(key, groups, [&](const GroupTimes& group) {
    out.Object([&] {
      out.Field(name, group.name);
      out.Field("jobs", group.jobs);
      for (const GroupFigure& figure : GroupFigures()) out.Field(figure.key, group.*figure.of);
    });
  });
}

}  // namespace sharewell::report
