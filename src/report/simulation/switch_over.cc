#include "report/simulation/switch_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text/words.h"
#include "report/simulation/simulation_json.h"
#include "report/simulation/simulation_table.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using simulation::PolicyChange;
using simulation::SwitchOverResult;
using simulation::UserOutcome;

constexpr std::size_t kMostUsersShown = 15;

std::string SignedPercent(const std::optional<double>& change) {
  return Or(change, [](double c) { return fmt::format("{:+.1f} %", 100 * c); });
}

// Of a user between the policy that stands for today and this one; below 0 is better.
std::optional<double> ChangeOfUser(const UserOutcome& user, std::size_t today, std::size_t then) {
  if (!user.jct_mean[today] || !user.jct_mean[then] || *user.jct_mean[today] <= 0) {
    return std::nullopt;
  }
  return *user.jct_mean[then] / *user.jct_mean[today] - 1;
}

std::string ChangeText(const PolicyChange& change, const std::string& today) {
  const std::size_t all = change.sooner + change.later + change.same;
  std::string text =
      fmt::format("{} instead of {}: of {}, {} sooner, {} later, {} about the same (within 5 %)",
                  change.policy, today, core::Count(all, "job"),
                  change.sooner == 1 ? "1 ends" : fmt::format("{} end", change.sooner),
                  change.later, change.same);
  if (change.jct_mean) {
    text += fmt::format("; mean completion time {}", SignedPercent(change.jct_mean));
  }
  if (change.later > 0 && change.worst) {
    text += fmt::format("; the job that loses most takes {}", Times(*change.worst));
  }
  return text + ".";
}

std::string UsersTable(const SimulationReport& report, const SwitchOverResult& result) {
  const std::size_t today = result.really ? 1 : 0;
  std::vector<std::pair<std::string, Align>> columns = {
      {"user", Align::kLeft}, {"jobs", Align::kRight}, {"GPU hours", Align::kRight}};
  for (const simulation::Summary& s : report.results) columns.emplace_back(s.policy, Align::kRight);
  columns.emplace_back("change", Align::kRight);
  Table table(columns);
  const std::size_t shown = std::min(result.users.size(), kMostUsersShown);
  for (std::size_t u = 0; u < shown; ++u) {
    const UserOutcome& user = result.users[u];
    std::vector<std::string> cells = {user.user.empty() ? "(not stated)" : user.user,
                                      Number(static_cast<double>(user.jobs), 0),
                                      Number(user.gpu_hours, 1)};
    for (const auto& mean : user.jct_mean) {
      cells.push_back(Or(mean, [](double s) { return Duration(core::Seconds(s)); }));
    }
    cells.push_back(SignedPercent(ChangeOfUser(user, today, user.jct_mean.size() - 1)));
    table.Row(std::move(cells));
  }
  std::string text = table.Text();
  if (result.users.size() > shown) {
    text += fmt::format("and {} more; --json lists all\n",
                        core::Count(result.users.size() - shown, "user"));
  }
  return text;
}

}  // namespace

std::string SwitchOverText(const SimulationReport& report, const SwitchOverResult& result,
                           std::size_t width) {
  SimulationReport bare = report;
  bare.notes.clear();
  std::string out = SimulationTable(bare, width);
  if (!result.changes.empty()) {
    const std::string& today = report.results[result.really ? 1 : 0].policy;
    out += '\n';
    for (const PolicyChange& change : result.changes) {
      out += Wrapped(ChangeText(change, today), width, 2) + '\n';
    }
    out += '\n' +
           Wrapped(fmt::format("who gains and who loses: mean completion time, and its "
                               "change from {} to {}",
                               today, report.results.back().policy),
                   width, 2) +
           "\n\n" + UsersTable(report, result);
  }
  out += '\n';
  for (const auto* notes : {&result.notes, &report.notes}) {
    for (const std::string& note : *notes) out += Wrapped("note: " + note, width, 6) + '\n';
  }
  return out;
}

std::string SwitchOverJson(const SimulationReport& report, const SwitchOverResult& result) {
  SimulationReport all = report;
  all.notes.insert(all.notes.begin(), result.notes.begin(), result.notes.end());
  return JsonReport([&](json::Writer& out) {
    WriteSimulation(out, all);
    out.List("changes", result.changes, [&](const PolicyChange& change) {
      out.Object([&] {
        out.Field("policy", change.policy);
        out.Field("jobs_sooner", change.sooner);
        out.Field("jobs_later", change.later);
        out.Field("jobs_same", change.same);
        out.Field("jct_mean_change", change.jct_mean);
        out.Field("worst_job", change.worst);
      });
    });
    out.List("users", result.users, [&](const UserOutcome& user) {
      out.Object([&] {
        out.Field("user", user.user);
        out.Field("jobs", user.jobs);
        out.Field("gpu_hours", user.gpu_hours);
        out.Object("jct_mean_seconds", [&] {
          for (std::size_t i = 0; i < user.jct_mean.size(); ++i) {
            out.Field(report.results[i].policy, user.jct_mean[i]);
          }
        });
      });
    });
  });
}

}  // namespace sharewell::report
