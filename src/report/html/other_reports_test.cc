// Two profiles, a sweep, a job and a week as pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/compare_report.h"
#include "report/html/job_report.h"
#include "report/html/sweep_report.h"
#include "report/html/test_html.h"
#include "report/html/week_figures.h"
#include "report/html/week_report.h"

namespace sharewell::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr core::UnixMillis kNow = 1'800'000'000'000, kHour = 3'600'000;

SeriesRead Busy(core::UnixMillis from, const std::string& instance, const std::string& job = "") {
  SeriesRead read{{{"n1", "gpu_busy_ratio", instance, job}, "", core::MetricKind::kGauge, 0, 0, 0},
                  {},
                  60,
                  {},
                  {}};
  for (int i = 0; i < 50; ++i) {
    const core::UnixMillis at = from + i * 1000;
    read.buckets.push_back({at, 0.5, 0.5, 0.5, 0.5, 1, at});
  }
  return read;
}

core::ProfileRecord ProfileCalled(const std::string& name, std::int64_t id, double rate) {
  core::ProfileRecord record;
  record.id = id;
  record.name = name;
  record.created = kNow;
  record.window = core::Seconds(60);
  record.profile.steps_per_second = rate;
  record.environment = {{"node", "n1"}, {"cpu", name}};
  record.figures = {{name + "_ratio", name, name, rate, 0, 2, 1, 2, 0.5, 3}};
  return record;
}

core::JobRecord JobCalled(const std::string& text, std::int64_t number) {
  core::JobRecord job;
  job.number = number;
  job.user.name = text;
  job.asked.name = job.asked.folder = job.reason = job.note = text;
  job.asked.command = {"python3", text};
  job.believed.from = text;
  job.phase = core::Phase::kFinished;
  job.submitted = kNow - 10 * kHour;
  job.started = job.resumed = kNow - 8 * kHour;
  job.ended = kNow - 4 * kHour;
  job.attempt = 1;
  job.run_time = core::Seconds(4 * 3600);
  job.alone_time = core::Seconds(3 * 3600);
  job.gpus = {{0, "GPU-" + text, text}};
  job.cores = 8;
  job.asked.cores = 8;
  job.seen.cores = 1.5;
  job.seen.busy = 0.25;
  return job;
}

measure::SweepResult SweepCalled(const std::string& text) {
  measure::SweepResult result;
  result.name = result.gpu = text;
  result.axes = {"cpus", "m" + text};
  for (const double cores : {1.0, 2.0, 4.0}) {
    measure::SweepCell cell;
    cell.cell.axes = {{"cpus", {std::to_string(cores), cores}}, {"m" + text, {text, {}}}};
    cell.cell.workload.name = text;
    cell.state = measure::CellState::kDone;
    cell.summary.profile.steps_per_second = 10 * std::min(cores, 2.0);
    cell.summary.profile.busy = 0.5;
    result.cells.push_back(cell);
  }
  result.cells.push_back(result.cells.back());
  result.cells.back().state = measure::CellState::kFailed;
  result.cells.back().why = text;
  result.notes = {text};
  measure::DrawConclusions(result);
  return result;
}

WeekParts WeekOf(const std::string& text) {
  WeekParts parts;
  parts.server = text;
  parts.to = kNow;
  parts.from = kNow - 7 * 24 * kHour;
  parts.jobs = {JobCalled(text, 1)};
  core::JobRecord waits = JobCalled(text, 2);
  waits.phase = core::Phase::kWaiting;
  waits.started = waits.resumed = waits.ended = {};
  waits.run_time = {};
  waits.attempt = 0;
  waits.seen = {};
  parts.jobs.push_back(waits);
  GpuNow gpu;
  gpu.gpu = {0, text, text};
  gpu.problem = text;
  gpu.drained = true;
  parts.gpus = {gpu};
  parts.savings = simulation::Savings{
      {10, 4.25, 3600, 60, std::nullopt}, {12.5, 5, 7200, 30, std::nullopt}, 7, 3, {text}};
  parts.no_savings = text;
  return parts;
}

std::string JobPageOf(const std::string& text) {
  JobPageParts parts;
  parts.job = JobCalled(text, 17);
  parts.now = kNow;
  parts.why = {text};
  parts.logs = {{"stdout", text, {}}, {"stderr", {}, text}};
  parts.series = {Busy(kNow - 10 * kHour, text)};
  return JobReport(parts, text);
}

TEST(EveryReport, KeepsWhatComesFromOutsideText) {
  for (const std::string& bad : testing::Payloads()) {
    const std::vector<std::string> pages = {
        ProfilePairPage(ProfileCalled(bad, 1, 10), ProfileCalled("b", 2, 20), {Busy(kNow, bad)},
                        {Busy(kNow, bad)}, bad),
        SweepPage(SweepCalled(bad), bad), JobPageOf(bad), WeekReport(WeekOf(bad), bad)};
    for (const std::string& html : pages) {
      EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty()) << bad.substr(0, 60);
      EXPECT_THAT(html, Not(HasSubstr("<script")));
    }
  }
}

TEST(ProfilePairPage, ComparesFiguresAndRuns) {
  const std::string html = ProfilePairPage(ProfileCalled("a", 1, 10), ProfileCalled("b", 2, 25),
                                           {Busy(kNow, "0")}, {Busy(kNow, "0")}, "");
  EXPECT_THAT(html, HasSubstr("<td>steps a second</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">2.50x</td>"));
  EXPECT_THAT(html, HasSubstr("a (1): GPU 0"));
  EXPECT_THAT(html, HasSubstr("b (2): GPU 0"));
  EXPECT_THAT(html, HasSubstr("<li>CPU temperature</li>")) << "what is not known is named";
}

TEST(SweepPage, SaysHowMuchIsEnough) {
  const std::string html = SweepPage(SweepCalled("cores"), "");
  EXPECT_THAT(html, HasSubstr("<td>cpus</td><td>cores</td><td class=\"n\">2</td>"));
  EXPECT_THAT(html, HasSubstr("download=\"throughput-cpus.csv\""));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">failed</th><td>1</td>"));
}

TEST(JobReport, TellsItsLifeAndWhatIsUnknown) {
  JobPageParts parts;
  parts.job = JobCalled("train", 17);
  parts.now = kNow;
  parts.logs = {{"stdout", "epoch 1\n", {}}};
  const std::string html = JobReport(parts, "");
  EXPECT_THAT(html, HasSubstr("waits, 2h 00m"));
  EXPECT_THAT(html, HasSubstr("runs, 4h 00m"));
  EXPECT_THAT(html, HasSubstr("Unknown: the store has no samples from this time"));
  EXPECT_THAT(html, HasSubstr("<pre>\nepoch 1\n</pre>"));
  EXPECT_THAT(html, HasSubstr("Unknown: no steps were told or seen."));
  parts.speed = {{{kNow - 4 * kHour, kNow - 2 * kHour, 3.5}, {kNow - 2 * kHour, kNow, 2}}, 3, 4, 5};
  const std::string fast = JobReport(parts, "");
  EXPECT_THAT(fast, HasSubstr("steps a second of job 17"));
  EXPECT_THAT(fast, HasSubstr("predicted, at least (95 %)"));
  EXPECT_THAT(fast, Not(HasSubstr("no steps were told")));
  EXPECT_THAT(fast, Not(HasSubstr("told by the job")));
  parts.speed.metrics.Hear({"loss", kNow - 2 * kHour, 2.5, 10});
  parts.speed.metrics.Hear({"loss", kNow, 0.5, 900});
  const std::string told = JobReport(parts, "");
  EXPECT_THAT(told, HasSubstr("loss of job 17, told by the job"));
  EXPECT_THAT(told, HasSubstr("loss 0.5, told by the job at step 900"));
}

TEST(WeekFigures, CountsWhatWasUsedWastedAndWaitedFor) {
  const Week week = FiguresOf(WeekOf("ann"));
  const UserWeek& ann = week.users.at("ann");
  EXPECT_EQ(ann.jobs, 2U);
  EXPECT_DOUBLE_EQ(ann.gpu_hours, 4);
  EXPECT_DOUBLE_EQ(ann.known_hours, 4);
  EXPECT_DOUBLE_EQ(ann.idle_hours, 3) << "a quarter of the time it was busy";
  EXPECT_THAT(ann.waits, ElementsAre(2 * 3600, 10 * 3600)) << "one waits still";
  EXPECT_THAT(ann.speeds, ElementsAre(0.5)) << "three hours of work in six";
  EXPECT_FALSE(week.jain) << "one user alone is neither treated well nor badly";
}

TEST(WeekFigures, CutsJobsToTheWeek) {
  core::JobRecord job = JobCalled("ann", 1);
  EXPECT_DOUBLE_EQ(GpuHoursOf(job, kNow - 6 * kHour, kNow), 2);
  EXPECT_DOUBLE_EQ(GpuHoursOf(job, kNow - 3 * kHour, kNow), 0);
  job.gpus.push_back(job.gpus[0]);
  EXPECT_DOUBLE_EQ(GpuHoursOf(job, kNow - 20 * kHour, kNow), 8);
}

TEST(WeekFigures, IsFairWhereAllAreServedAlike) {
  WeekParts parts = WeekOf("ann");
  parts.jobs.push_back(JobCalled("bo", 3));
  EXPECT_DOUBLE_EQ(FiguresOf(parts).jain.value_or(0), 1);
  parts.jobs.back().alone_time = core::Seconds(600);
  EXPECT_LT(FiguresOf(parts).jain.value_or(1), 0.8);
}

TEST(EveryReport, OpensWithItsResult) {
  EXPECT_THAT(JobPageOf("ann"),
              HasSubstr("<p class=\"r\">Job 17 of ann finished after 4h 00m.</p>"));
  EXPECT_THAT(JobPageOf("ann"), HasSubstr("<div><dt>waited</dt><dd>2h 00m</dd></div>"));
  EXPECT_THAT(SweepPage(SweepCalled("x"), ""),
              HasSubstr("is fastest, with 20 steps/s; 3 of 4 cells measured.</p>"));
  EXPECT_THAT(ProfilePairPage(ProfileCalled("a", 1, 10), ProfileCalled("b", 2, 25), {}, {}, ""),
              HasSubstr("<p class=\"r\">steps a second: b (2) has 250.0 % of what a (1) has.</p>"));
  const std::string week = WeekReport(WeekOf("ann"), "");
  EXPECT_THAT(week,
              HasSubstr("<p class=\"r\">2 jobs of 1 user; GPUs were held for 10.0 hours; without "
                        "sharing it would have been 12.5 hours; job 2 of ann waited longest, "
                        "10h 00m.</p>"));
  EXPECT_THAT(week, HasSubstr("<dt>saved by sharing</dt><dd>2.50 GPU hours</dd>"));
  EXPECT_THAT(week, HasSubstr("<dt>idle, failed or cancelled</dt><dd>3.00 GPU hours</dd>"));
  EXPECT_THAT(week, HasSubstr("<dt>median wait</dt>")) << "nothing has a price";
}

TEST(WeekReport, TellsTheCostWhereAPriceIsSet) {
  WeekParts parts = WeekOf("ann");
  UsageTable usage;
  usage.currency = "EUR";
  usage.rows.resize(1);
  usage.rows[0].name = "ann";
  usage.rows[0].cost = usage.all.cost = 14;
  usage.all.held_hours = 5;
  usage.all.priced_hours = 4;
  usage.unpriced = {"A100"};
  parts.usage = usage;
  const std::string html = WeekReport(parts, "");
  EXPECT_THAT(html, HasSubstr("<dt>cost, EUR</dt><dd>14.00</dd>"));
  EXPECT_THAT(html, HasSubstr("cost, EUR</th>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">14.00</td>"));
  EXPECT_THAT(html, HasSubstr("4.00 of 5.00 GPU hours: [prices] in the server&#39;s sharewell.toml "
                              "has none for &#39;A100&#39;."));
  parts.usage->all.cost.reset();
  EXPECT_THAT(WeekReport(parts, ""), Not(HasSubstr("cost")));
}

TEST(WeekReport, LaysNobodyWhatTheServerChose) {
  WeekParts parts = WeekOf("ann");
  parts.jobs[0].asked.cores.reset();
  const std::string chosen = WeekReport(parts, "");
  EXPECT_THAT(chosen, HasSubstr("<td>cores that the server chose and jobs did not use</td>"));
  EXPECT_THAT(chosen, Not(HasSubstr("sharewell submit --cpus")));
  EXPECT_THAT(chosen, Not(HasSubstr("asked for and not used")));
  parts.jobs[0].phase = core::Phase::kFailed;
  parts.jobs[0].evicted = 2;
  const std::string failed = WeekReport(parts, "");
  EXPECT_THAT(failed,
              HasSubstr("<td>jobs that failed otherwise</td><td class=\"n\">4.0 GPU hours</td>"
                        "<td>the jobs</td>"));
  EXPECT_THAT(failed,
              HasSubstr("2 runs; how much work was lost is unknown</td><td>the server</td>"));
  EXPECT_THAT(failed, HasSubstr("<dd>4.00 GPU hours</dd>")) << "what failed is not idle too";
}

TEST(WeekReport, NamesTheCommandsThatMend) {
  const std::string html = WeekReport(WeekOf("ann"), "");
  for (const char* command : {"`sharewell drain 0 --undo`", "`sharewell doctor`",
                              "`sharewell job 1`", "`sharewell submit --cpus 2 ...`",
                              "`sharewell why 2`", "`sharewell whatif --policy slot,sharewell"}) {
    EXPECT_THAT(html, HasSubstr(command));
  }
  WeekParts empty;
  empty.server = "n1";
  empty.to = kNow;
  empty.from = kNow - kHour;
  EXPECT_THAT(WeekReport(empty, ""), HasSubstr("No job was there in this time."));
}

TEST(WeekReport, SaysWhatSharingSavedAndHowThatIsKnown) {
  const std::string html = WeekReport(WeekOf("ann"), "");
  EXPECT_THAT(html, HasSubstr("<td>2.50 of 12.5 GPU hours; energy: 0.75 kWh</td>"));
  EXPECT_THAT(html, HasSubstr("<td>GPU hours held</td><td class=\"n\">10.0</td><td class=\"n\">12.5"
                              "</td><td class=\"n\">2.50</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1h 00m</td><td class=\"n\">2h 00m</td><td "
                              "class=\"n\">1h 00m</td>"));
  EXPECT_THAT(html, HasSubstr("−30.0 s</td>")) << "jobs ended later beside others";
  EXPECT_THAT(html, HasSubstr("playing these jobs again with exclusive slots"));
  EXPECT_THAT(html, HasSubstr("7 jobs held GPUs in this time, and 3 of them shared one."));
}

TEST(WeekReport, SaysUnknownWhereNothingWasSeen) {
  WeekParts parts = WeekOf("ann");
  parts.savings.reset();
  parts.jobs[0].seen = {};
  parts.gpus.clear();
  const std::string html = WeekReport(parts, "");
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">given and not busy</th><td>unknown</td>"));
  EXPECT_THAT(html, HasSubstr("how many GPUs there are is unknown"));
  EXPECT_THAT(html,
              HasSubstr("<th scope=\"row\">saved against exclusive GPUs</th><td>unknown</td>"));
  EXPECT_THAT(html, HasSubstr("Unknown: the server says: ann."));
}

}  // namespace
}  // namespace sharewell::report
