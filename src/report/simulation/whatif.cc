#include "report/simulation/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "report/simulation/best_for_whom.h"
#include "report/simulation/group_times.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using json::Writer;
using simulation::WhatIfRow;

constexpr std::size_t kMostWhatIfUsers = 1000;

// Of very many users, those with most jobs.
std::vector<simulation::GroupTimes> MostJobs(std::vector<simulation::GroupTimes> users) {
  if (users.size() <= kMostWhatIfUsers) return users;
  std::stable_sort(users.begin(), users.end(),
                   [](const auto& a, const auto& b) { return a.jobs > b.jobs; });
  users.resize(kMostWhatIfUsers);
  return users;
}

void WriteRow(Writer& out, const WhatIfRow& row) {
  out.Object([&] {
    out.Field("name", row.name);
    out.Field("jobs", row.jobs);
    out.Field("finished", row.finished);
    out.Field("makespan_seconds", row.makespan);
    out.Field("jct_mean_seconds", row.jct_mean);
    out.Field("queueing_mean_seconds", row.queueing_mean);
    out.Field("slowdown_mean", row.slowdown_mean);
    out.Field("busy", row.busy);
    out.Field("moves", row.moves);
    out.Field("ooms", row.ooms);
    out.Object("curves", [&] {
      out.Field("jct_seconds", row.jct_curve);
      out.Field("queueing_seconds", row.queueing_curve);
      out.Field("slowdown", row.slowdown_curve);
    });
    WriteGroups(out, "by_size", "size", row.by_size);
    WriteGroups(out, "by_user", "user", MostJobs(row.by_user));
  });
}

void WriteNamed(Writer& out, const char* key, const std::vector<simulation::NamedChange>& changes) {
  out.List(key, changes, [&](const simulation::NamedChange& change) {
    out.Object([&] {
      out.Field("number", change.number);
      out.Field("name", change.name);
      out.Field("user", change.user);
      out.Field("before_seconds", change.before);
      out.Field("after_seconds", change.after);
    });
  });
}

void WriteChange(Writer& out, const simulation::WhatIfChange& made) {
  const simulation::PolicyChange& change = made.change;
  out.Object([&] {
    out.Field("policy", change.policy);
    out.Field("jobs_sooner", change.sooner);
    out.Field("jobs_later", change.later);
    out.Field("jobs_same", change.same);
    out.Field("jct_mean_change", change.jct_mean);
    out.Field("worst_job", change.worst);
    WriteNamed(out, "gains", made.gains);
    WriteNamed(out, "losses", made.losses);
  });
}

void WriteUser(Writer& out, const simulation::UserOutcome& user, std::size_t policies) {
  out.Object([&] {
    out.Field("user", user.user);
    out.Field("jobs", user.jobs);
    out.Field("gpu_hours", user.gpu_hours);
    out.Key("jct_mean_seconds");
    out.List([&] {
      for (std::size_t p = 0; p < policies; ++p) out.Value(user.jct_mean[p]);
    });
    out.Field("really_jct_mean_seconds", user.jct_mean.back());
  });
}

void WriteGpus(Writer& out, const std::vector<core::GivenGpu>& gpus) {
  out.List("gpus", gpus, [&](const core::GivenGpu& gpu) {
    out.Object([&] {
      out.Field("index", gpu.index);
      out.Field("uuid", gpu.uuid);
      out.Field("model", gpu.model);
    });
  });
}

std::string TimeText(const std::optional<double>& seconds) {
  return Or(seconds, [](double s) { return Duration(core::Seconds(s)); });
}

}  // namespace

std::string WhatIfTable(const simulation::WhatIfResult& result, std::size_t width) {
  std::vector<const WhatIfRow*> rows;
  if (result.really) rows.push_back(&*result.really);
  for (const WhatIfRow& row : result.policies) rows.push_back(&row);
  std::vector<std::pair<std::string, Align>> columns = {{"", Align::kLeft}};
  for (const WhatIfRow* row : rows) columns.emplace_back(row->name, Align::kRight);
  Table table(columns);
  const auto add = [&](const char* label, const auto& text) {
    std::vector<std::string> cells = {label};
    for (const WhatIfRow* row : rows) cells.push_back(text(*row));
    table.Row(std::move(cells));
  };
  add("jobs", [](const WhatIfRow& r) { return Number(static_cast<double>(r.jobs), 0); });
  add("makespan", [](const WhatIfRow& r) { return TimeText(r.makespan); });
  add("completion time, mean", [](const WhatIfRow& r) { return TimeText(r.jct_mean); });
  add("queueing, mean", [](const WhatIfRow& r) { return TimeText(r.queueing_mean); });
  add("slowdown by neighbours, mean",
      [](const WhatIfRow& r) { return Or(r.slowdown_mean, [](double v) { return Times(v); }); });
  add("GPU busy",
      [](const WhatIfRow& r) { return Or(r.busy, [](double v) { return Percent(v); }); });
  add("out of memory", [](const WhatIfRow& r) { return Number(static_cast<double>(r.ooms), 0); });
  std::vector<GroupRuns> sizes, users;
  std::vector<std::string> names;
  for (const WhatIfRow* row : rows) {
    sizes.push_back({&row->by_size});
    users.push_back({&row->by_user});
    names.push_back(row->name);
  }
  table.Gap();
  for (SummaryRow& row : SizeRows(sizes)) {
    std::vector<std::string> cells = {std::move(row.label)};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.Row(std::move(cells));
  }
  // What BestForWhom reads of a summary; of the past nothing is chosen.
  std::vector<simulation::Summary> summaries(result.policies.size());
  std::vector<PolicyRuns> choices;
  for (std::size_t p = 0; p < summaries.size(); ++p) {
    const WhatIfRow& row = result.policies[p];
    summaries[p].policy = row.name;
    summaries[p].jct.mean = row.jct_mean;
    summaries[p].by_size = row.by_size;
    summaries[p].by_user = row.by_user;
    choices.push_back({&summaries[p]});
  }
  std::string out;
  for (const std::string& line : BestForWhom(choices)) out += Wrapped(line, width, 2) + '\n';
  if (!out.empty()) out += '\n';
  out += table.Text();
  if (const std::string text = UsersText(names, users, width); !text.empty()) out += '\n' + text;
  if (!result.remarks.empty()) out += '\n';
  for (const std::string& remark : result.remarks) {
    out += Wrapped("note: " + remark, width, 6) + '\n';
  }
  return out;
}

std::string WhatIfJson(const simulation::WhatIfResult& result) {
  return JsonLine([&](Writer& out) {
    out.List("policies", result.policies, [&](const WhatIfRow& row) { WriteRow(out, row); });
    out.Key("really");
    result.really ? WriteRow(out, *result.really) : out.Null();
    out.Field("jobs", result.jobs);
    out.Field("remarks", result.remarks);
    out.List("changes", result.changes,
             [&](const simulation::WhatIfChange& change) { WriteChange(out, change); });
    // Of very many users, those whose jobs are most work.
    const auto users =
        std::span(result.users).first(std::min(result.users.size(), kMostWhatIfUsers));
    out.List("users", users, [&](const simulation::UserOutcome& user) {
      WriteUser(out, user, result.policies.size());
    });
  });
}

std::string ForecastJson(const simulation::ForecastResult& result) {
  return JsonLine([&](Writer& out) {
    out.List("jobs", result.jobs, [&](const simulation::ExpectedStart& job) {
      out.Object([&] {
        out.Field("number", job.number);
        out.Field("start_ms", job.start);
        WriteGpus(out, job.gpus);
        out.Field("why", job.why);
      });
    });
    out.Field("remarks", result.remarks);
  });
}

std::string ConsideredJson(const simulation::ForecastResult& result) {
  if (!result.considered) return "null";
  return json::ObjectLine([&](Writer& out) {
    out.Field("start_ms", result.considered->start);
    WriteGpus(out, result.considered->gpus);
    out.Field("why", result.considered->why);
    out.Field("remarks", result.remarks);
  });
}

}  // namespace sharewell::report
