#include "report/simulation/whatif.h"

#include <fmt/format.h>

#include <vector>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using study::WhatIfRow;

constexpr std::size_t kMostWhatIfUsers = 1000;

Json RowJson(const WhatIfRow& row) {
  return {{"name", row.name},
          {"jobs", row.jobs},
          {"finished", row.finished},
          {"makespan_seconds", OrNull(row.makespan)},
          {"jct_mean_seconds", OrNull(row.jct_mean)},
          {"queueing_mean_seconds", OrNull(row.queueing_mean)},
          {"slowdown_mean", OrNull(row.slowdown_mean)},
          {"busy", OrNull(row.busy)},
          {"moves", row.moves},
          {"ooms", row.ooms},
          {"curves",
           {{"jct_seconds", row.jct_curve},
            {"queueing_seconds", row.queueing_curve},
            {"slowdown", row.slowdown_curve}}}};
}

Json NamedJson(const std::vector<study::NamedChange>& changes) {
  Json list = Json::array();
  for (const study::NamedChange& change : changes) {
    list.push_back({{"number", change.number},
                    {"name", change.name},
                    {"user", change.user},
                    {"before_seconds", change.before},
                    {"after_seconds", change.after}});
  }
  return list;
}

Json ChangesJson(const study::WhatIfResult& result) {
  Json list = Json::array();
  for (const study::WhatIfChange& made : result.changes) {
    const study::PolicyChange& change = made.change;
    list.push_back({{"policy", change.policy},
                    {"jobs_sooner", change.sooner},
                    {"jobs_later", change.later},
                    {"jobs_same", change.same},
                    {"jct_mean_change", OrNull(change.jct_mean)},
                    {"worst_job", OrNull(change.worst)},
                    {"gains", NamedJson(made.gains)},
                    {"losses", NamedJson(made.losses)}});
  }
  return list;
}

// Of very many users, those whose jobs are most work.
Json UsersJson(const study::WhatIfResult& result) {
  Json list = Json::array();
  for (const study::UserOutcome& user : result.users) {
    if (list.size() == kMostWhatIfUsers) break;
    Json means = Json::array();
    for (std::size_t p = 0; p < result.policies.size(); ++p) {
      means.push_back(OrNull(user.jct_mean[p]));
    }
    list.push_back({{"user", user.user},
                    {"jobs", user.jobs},
                    {"gpu_hours", user.gpu_hours},
                    {"jct_mean_seconds", std::move(means)},
                    {"really_jct_mean_seconds", OrNull(user.jct_mean.back())}});
  }
  return list;
}

Json TimeOrNull(const std::optional<core::UnixMillis>& time) {
  return time ? Json(*time) : Json(nullptr);
}

Json GpusJson(const std::vector<core::GivenGpu>& gpus) {
  Json list = Json::array();
  for (const core::GivenGpu& gpu : gpus) {
    list.push_back({{"index", gpu.index}, {"uuid", gpu.uuid}, {"model", gpu.model}});
  }
  return list;
}

std::string OnOneLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TimeText(const std::optional<double>& seconds) {
  return Or(seconds, [](double s) { return Duration(core::Seconds(s)); });
}

}  // namespace

std::string WhatIfTable(const study::WhatIfResult& result, std::size_t width) {
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
  std::string out = table.Text();
  if (!result.remarks.empty()) out += '\n';
  for (const std::string& remark : result.remarks) {
    out += Wrapped("note: " + remark, width, 6) + '\n';
  }
  return out;
}

std::string WhatIfJson(const study::WhatIfResult& result) {
  Json json = {{"schema", kSchema}};
  Json& policies = json["policies"] = Json::array();
  for (const WhatIfRow& row : result.policies) policies.push_back(RowJson(row));
  json["really"] = result.really ? RowJson(*result.really) : Json(nullptr);
  json["jobs"] = result.jobs;
  json["remarks"] = result.remarks;
  json["changes"] = ChangesJson(result);
  json["users"] = UsersJson(result);
  return OnOneLine(json);
}

std::string ForecastJson(const study::ForecastResult& result) {
  Json json = {{"schema", kSchema}};
  Json& jobs = json["jobs"] = Json::array();
  for (const study::ExpectedStart& job : result.jobs) {
    jobs.push_back({{"number", job.number},
                    {"start_ms", TimeOrNull(job.start)},
                    {"gpus", GpusJson(job.gpus)},
                    {"why", job.why}});
  }
  json["remarks"] = result.remarks;
  return OnOneLine(json);
}

std::string ConsideredJson(const study::ForecastResult& result) {
  if (!result.considered) return "null";
  return OnOneLine({{"start_ms", TimeOrNull(result.considered->start)},
                    {"gpus", GpusJson(result.considered->gpus)},
                    {"why", result.considered->why},
                    {"remarks", result.remarks}});
}

}  // namespace sharewell::report
