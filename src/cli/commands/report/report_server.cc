#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/args/store_flag.h"
#include "cli/client/server_client.h"
#include "cli/client/server_flags.h"
#include "cli/commands/report/report_pages.h"
#include "platform/clock/wall_clock.h"
#include "report/html/job_report.h"
#include "report/html/week_report.h"
#include "report/measure/sample_charts.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Result;

constexpr std::size_t kJobPoints = 280;  // of a line: two pixels of a chart each
constexpr std::int64_t kLogEnd = 4000;   // bytes
constexpr std::size_t kMostWeekJobs = 100'000;

// From its first whole line on.
report::JobLog LogOf(const ServerClient& client, std::int64_t number, bool errors) {
  report::JobLog log{errors ? "stderr" : "stdout", {}, {}};
  const auto piece = client.Log(number, errors, -kLogEnd, kLogEnd);
  if (!piece) {
    log.why = piece.error().message;
    return log;
  }
  std::string text = piece->bytes;
  const auto line = text.find('\n');
  if (static_cast<std::int64_t>(text.size()) >= kLogEnd && line + 1 < text.size()) {
    text.erase(0, line + 1);
  }
  log.end = std::move(text);
  return log;
}

Result<void> ReadSamples(store::Store& store, const std::string& node,
                         report::JobPageParts& parts) {
  store::SeriesFilter filter;
  if (!node.empty()) filter.node = node;
  const auto listed = store.List(filter);
  RETURN_IF_ERROR(listed);
  const store::TimeRange range = report::JobRange(parts.job, parts.now);
  for (const store::SeriesInfo& info : *listed) {
    const auto& key = info.key;
    if (!report::IsOfJob(parts.job, key)) continue;
    if (!report::IsDrawn(report::TakayamaCharts(), key.metric) &&
        !report::IsDrawn(report::OtherCharts(), key.metric)) {
      continue;
    }
    if (info.last < range.from || info.first >= range.to) continue;
    auto buckets = store.Chart(key, range, kJobPoints);
    RETURN_IF_ERROR(buckets);
    if (buckets->empty()) continue;
    parts.series.push_back({info, range, kJobPoints, std::move(*buckets), {}});
  }
  return {};
}

std::string NodeName(const ServerClient& client) {
  const auto node = client.Node();
  return node ? node->name : std::string();
}

}  // namespace

Result<std::string> JobReportPage(const ReportFlags& flags) {
  const auto asked = FindJob(flags.words[0], {flags.server, false});
  RETURN_IF_ERROR(asked);
  const auto& [number, client] = *asked;
  auto job = client.Job(number);
  RETURN_IF_ERROR(job);
  report::JobPageParts parts;
  std::vector<JobRecord> one = {std::move(*job)};
  if (const auto gpus = client.Gpus()) report::PutNeighbours(one, *gpus);
  parts.job = std::move(one[0]);
  parts.now = platform::UnixNow();
  if (const auto body = client.Get(fmt::format("/jobs/{}/why", number))) {
    if (auto why = WhyFromAnswer(*body)) parts.why = std::move(why->sentences);
  }
  // A server of an older version does not know it.
  if (const auto body = client.Get(fmt::format("/jobs/{}/speed", number))) {
    if (auto speed = SpeedFromAnswer(*body)) parts.speed = std::move(*speed);
  }
  for (const bool errors : {false, true}) parts.logs.push_back(LogOf(client, number, errors));
  // A store that is named must be there; without one the page does without samples.
  const auto store = OpenStoreThatIsThere(flags.store);
  if (!store && !flags.store.empty()) return tl::unexpected(store.error());
  if (!store) {
    parts.no_series = store.error().message;
  } else if (auto read = ReadSamples(**store, NodeName(client), parts); !read) {
    return tl::unexpected(read.error());
  }
  return report::JobReport(parts, flags.made);
}

Result<std::string> WeekPage(const ReportFlags& flags) {
  const auto client = ServerClient::Find(flags.server);
  RETURN_IF_ERROR(client);
  report::WeekParts parts;
  parts.to = platform::UnixNow();
  parts.from = parts.to - static_cast<core::UnixMillis>(flags.days) * 86'400'000;
  auto jobs = client->Jobs("", kMostWeekJobs);
  RETURN_IF_ERROR(jobs);
  parts.cut = jobs->next.has_value();
  parts.jobs = std::move(jobs->jobs);
  std::erase_if(parts.jobs, [&](const JobRecord& job) {
    return job.submitted >= parts.to || job.ended.value_or(parts.to) < parts.from;
  });
  auto gpus = client->Gpus();
  RETURN_IF_ERROR(gpus);
  parts.gpus = std::move(*gpus);
  parts.server = NodeName(*client);
  if (parts.server.empty()) parts.server = "this server";
  // A server of an older version does not know it, and a busy one may refuse: the page says so.
  const auto usage = client->Get(fmt::format("/usage?seconds={}", flags.days * 86'400));
  if (!usage) {
    parts.no_savings = usage.error().message;
  } else if (auto savings = SavingsFromAnswer(*usage)) {
    parts.savings = std::move(*savings);
  } else {
    parts.no_savings = savings.error().message;
  }
  if (const auto table =
          client->Get(fmt::format("/usage?by=user&from={}&to={}", parts.from, parts.to))) {
    if (auto rows = UsageTableFromAnswer(*table)) parts.usage = std::move(*rows);
  }
  return report::WeekReport(parts, flags.made);
}

}  // namespace sharewell::cli
