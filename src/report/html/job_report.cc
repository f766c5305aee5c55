#include "report/html/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "report/html/page.h"
#include "report/jobs/job_tables.h"
#include "report/measure/sample_charts.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using core::JobRecord;

constexpr std::size_t kPageColumns = 100;
constexpr core::UnixMillis kShortestLife = 1000;

// What is known of its life: when it was submitted, first and last started, paused and over.
Gantt LifeOf(const JobRecord& job, core::UnixMillis now) {
  const store::TimeRange range = JobRange(job, now);
  const double length = static_cast<double>(range.to - range.from) / 1e3;
  const double unit = length <= 15 * 60 ? 1 : length <= 5 * 3600 ? 60 : 3600;
  const auto at = [&](core::UnixMillis time) {
    return static_cast<double>(time - range.from) / 1e3 / unit;
  };
  const auto span = [&](core::UnixMillis from, core::UnixMillis to, std::size_t colour,
                        const char* name) {
    const core::Seconds took(static_cast<double>(std::max<core::UnixMillis>(to - from, 0)) / 1e3);
    return GanttSpan{at(from), at(std::max(from, to)), colour, name,
                     fmt::format("{}, {}", name, Duration(took))};
  };
  Gantt gantt;
  gantt.title = fmt::format("the life of job {}", job.number);
  gantt.subtitle = UtcTime(job.submitted) + " UTC";
  gantt.time = {fmt::format("{} since its submission", unit == 1    ? "seconds"
                                                       : unit == 60 ? "minutes"
                                                                    : "hours"),
                0, length / unit, range.from, unit * 1e3};
  const core::UnixMillis end = job.ended.value_or(now);
  gantt.rows.push_back({"waits", {span(job.submitted, job.started.value_or(end), 5, "waits")}});
  if (job.started) {
    const core::UnixMillis last = std::max(job.resumed.value_or(*job.started), *job.started);
    if (last > *job.started) {
      gantt.rows.push_back({"earlier attempts", {span(*job.started, last, 1, "earlier attempts")}});
    }
    const bool waits = job.phase == core::Phase::kHeld || job.phase == core::Phase::kWaiting;
    const core::UnixMillis until =
        waits ? std::clamp(job.paused_at.value_or(last), last, end) : end;
    gantt.rows.push_back({"runs", {span(last, until, 2, "runs")}});
    if (waits && job.paused_at) {
      gantt.rows.push_back({"paused", {span(until, end, 6, "paused")}});
    }
  }
  return gantt;
}

// The axis of a chart over a stretch of a job's life.
struct LifeTime {
  core::UnixMillis begin = 0;
  double unit = 1;  // seconds
  const char* unit_name = "seconds";
  double length = 0;  // in units

  // Of the middle of a stretch.
  double At(core::UnixMillis from, core::UnixMillis to) const {
    return static_cast<double>((from - begin) + (to - begin)) / 2e3 / unit;
  }
};

LifeTime TimeOver(core::UnixMillis begin, core::UnixMillis end) {
  const double length = std::max(static_cast<double>(end - begin) / 1e3, 1.0);
  LifeTime time{begin};
  if (length > 15 * 60) time = {begin, 60, "minutes"};
  if (length > 5 * 3600) time = {begin, 3600, "hours"};
  time.length = length / time.unit;
  return time;
}

void AddSpeed(HtmlPage& page, const JobPageParts& parts) {
  page.Section("Speed over its life");
  const auto& points = parts.speed.points;
  if (points.empty()) {
    return page.Quiet(core::IsOver(parts.job.phase) ? "Unknown: no steps were told or seen."
                                                    : "No steps were told or seen yet.");
  }
  const LifeTime time = TimeOver(points.front().from, points.back().to);
  ChartLine seen{"observed", {}, {}};
  double most = parts.speed.high.value_or(parts.speed.middle.value_or(0));
  for (const JobSpeed::Point& point : points) {
    seen.points.push_back({time.At(point.from, point.to), point.steps_per_second, 0, ""});
    most = std::max(most, point.steps_per_second);
  }
  LineChart chart;
  chart.title = fmt::format("steps a second of job {}", parts.job.number);
  chart.x = {fmt::format("{} since its first step", time.unit_name), 0, time.length};
  chart.y = AxisUpTo("steps a second", most);
  chart.lines.push_back(std::move(seen));
  const auto level = [&](const char* name, const std::optional<double>& at) {
    if (!at) return;
    chart.lines.push_back({name, {{0, *at, 0, ""}, {chart.x.most, *at, 0, ""}}, {}});
  };
  level("predicted alone", parts.speed.middle);
  level("predicted, at least (95 %)", parts.speed.low);
  level("predicted, at most (95 %)", parts.speed.high);
  page.Chart("speed",
             "Steps a second: the mean of each stretch of time, with whatever the job did between "
             "its steps.",
             chart);
}

// What it told of itself, each in a chart of its own: they share no scale.
void AddMetrics(HtmlPage& page, const JobPageParts& parts) {
  for (const core::JobMetric& metric : parts.speed.metrics.all()) {
    const auto& points = metric.points.points();
    const LifeTime time = TimeOver(points.front().from, points.back().to);
    ChartLine told{metric.last.name, {}, {}};
    double least = points.front().value, most = least;
    for (const core::MetricPoint& point : points) {
      told.points.push_back({time.At(point.from, point.to), point.value, 0, ""});
      least = std::min(least, point.value);
      most = std::max(most, point.value);
    }
    LineChart chart;
    chart.title = fmt::format("{} of job {}, told by the job", metric.last.name, parts.job.number);
    chart.x = {fmt::format("{} since it was first told", time.unit_name), 0, time.length};
    chart.y = AxisOver(metric.last.name, least, most);
    chart.lines.push_back(std::move(told));
    page.Chart(fmt::format("metric-{}", &metric - parts.speed.metrics.all().data() + 1),
               "Told by the job: the mean of what it told in each stretch of time.", chart);
  }
}

// Charts of the machine and of the job, with what was not sampled in one list.
void AddJobSamples(HtmlPage& page, const JobPageParts& parts) {
  page.Section("Samples");
  if (parts.series.empty()) {
    page.Quiet("Unknown: " + (parts.no_series.empty()
                                  ? "the store has no samples from this time; `sharewell monitor` "
                                    "takes them."
                                  : parts.no_series));
    return;
  }
  const store::TimeRange range = JobRange(parts.job, parts.now);
  const std::string name = fmt::format("job {}", parts.job.number);
  std::vector<std::string> missing;
  for (const auto kinds : {OtherCharts(), TakayamaCharts()}) {
    const auto drawn = DrawSamples(kinds, name, range, parts.series);
    for (const SampleChart& chart : drawn.charts) {
      page.Chart(chart.name, chart.title + " over the life of the job.", chart.chart);
    }
    missing.insert(missing.end(), drawn.missing.begin(), drawn.missing.end());
  }
  page.Quiet(
      "Samples named after the job are its own; all others are of its machine, with whatever else "
      "ran there.");
  if (missing.empty()) return;
  page.Quiet("Unknown, as the store has no samples of it from this time:");
  page.Listed(missing);
}

}  // namespace

store::TimeRange JobRange(const JobRecord& job, core::UnixMillis now) {
  const core::UnixMillis end = job.ended.value_or(now);
  return {job.submitted, std::max(end, job.submitted + kShortestLife)};
}

namespace {

// "Job 17 of ann finished after 2m 10s, 95 % as fast as alone."
void OpenJob(HtmlPage& page, const JobRecord& job, core::UnixMillis now) {
  const auto shown = [](const std::optional<core::Seconds>& time) {
    return time ? Duration(*time) : std::string(kUnknown);
  };
  const core::Seconds waited(
      static_cast<double>(std::max<core::UnixMillis>(
          job.started.value_or(job.ended.value_or(now)) - job.submitted, 0)) /
      1e3);
  const std::optional<double> speed =
      job.slowdown && *job.slowdown > 0 ? std::optional(1 / *job.slowdown) : std::nullopt;
  std::string sentence =
      fmt::format("Job {} of {} {}", job.number, PlainText(job.user.name), StateInWords(job, now));
  if (speed) sentence += fmt::format(", {} as fast as alone", Percent(*speed));
  page.Opens(sentence + ".", {{Duration(waited), "waited"},
                              {shown(RanFor(job, now)), "ran"},
                              {Or(speed, Percent), "of its speed alone"}});
}

}  // namespace

std::string JobReport(const JobPageParts& parts, std::string_view made) {
  const JobRecord& job = parts.job;
  HtmlPage page(fmt::format("Job {}: {}", job.number, core::DisplayName(job.asked)),
                fmt::format("of {}, submitted {} UTC", job.user.name, UtcTime(job.submitted)),
                made);
  OpenJob(page, job, parts.now);
  page.Section("In short");
  if (!job.note.empty()) page.Text(job.note);
  page.Chart("life", "When it waited and when it ran.", LifeOf(job, parts.now));
  page.Section("Why it is where it is");
  if (parts.why.empty() && job.reason.empty()) page.Quiet("Unknown: nothing is recorded.");
  if (parts.why.empty() && !job.reason.empty()) page.Text(job.reason);
  page.Listed(parts.why);
  page.Section("Everything that is known");
  page.Verbatim(JobPage(job, parts.now, kPageColumns, parts.speed.metrics));
  AddSpeed(page, parts);
  AddMetrics(page, parts);
  AddJobSamples(page, parts);
  page.Section("The end of its log");
  for (const JobLog& log : parts.logs) {
    page.Text(log.name + ":");
    if (log.end && !log.end->empty()) {
      page.Verbatim(*log.end);
    } else {
      page.Quiet(log.end ? "Empty." : "Unknown: " + log.why);
    }
  }
  return std::move(page).Take();
}

}  // namespace sharewell::report
