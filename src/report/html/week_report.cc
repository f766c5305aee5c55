#include "report/html/week_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/html/page.h"
#include "report/html/week_figures.h"
#include "report/measure/series.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::UnixMillis;

constexpr std::size_t kMostWeekUsers = 200, kMostWaitingRows = 50, kMostWeekBars = 15;
constexpr std::size_t kMostUserLabel = 20;
constexpr int kWeekPoints = 336;  // half hours of a week

std::optional<double> Quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(at, 1, values.size()) - 1];
}

std::string TimeText(const std::optional<double>& seconds) {
  return Or(seconds, [](double s) { return Duration(core::Seconds(s)); });
}

std::string Hours(double hours) { return Number(hours, hours < 10 ? 2 : 1); }

std::string IdleText(const UserWeek& week) {
  if (week.known_hours <= 0) return "unknown";
  return fmt::format("{} of {}", Hours(week.idle_hours), Hours(week.known_hours));
}

std::optional<double> MeanOf(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

bool HasCost(const WeekParts& parts) { return parts.usage && parts.usage->all.cost; }

std::string CostHeading(const WeekParts& parts) {
  const std::string& currency = parts.usage->currency;
  return currency.empty() ? "cost" : "cost, " + currency;
}

// REQUIRES: HasCost().
std::string CostOf(const WeekParts& parts, const std::string& user) {
  for (const UsageRow& row : parts.usage->rows) {
    if (row.name == user) return Or(row.cost, [](double cost) { return Number(cost, 2); });
  }
  return kUnknown;
}

// Users by what they used, most first.
std::vector<std::pair<std::string, const UserWeek*>> Ranked(const Week& week) {
  std::vector<std::pair<std::string, const UserWeek*>> users;
  for (const auto& [name, figures] : week.users) users.emplace_back(name, &figures);
  std::stable_sort(users.begin(), users.end(), [](const auto& a, const auto& b) {
    return a.second->gpu_hours > b.second->gpu_hours;
  });
  return users;
}

HtmlTable UseRows(const WeekParts& parts, const Week& week) {
  HtmlTable table{{{"user", Align::kLeft},
                   {"jobs", Align::kRight},
                   {"GPU hours", Align::kRight},
                   {"share", Align::kRight},
                   {"given and not busy", Align::kRight},
                   {"failed or cancelled", Align::kRight},
                   {"cores used of asked", Align::kRight}},
                  {}};
  const bool priced = HasCost(parts);
  if (priced) table.columns.emplace_back(CostHeading(parts), Align::kRight);
  for (const auto& [name, user] : Ranked(week)) {
    const std::optional<double> share =
        week.all.gpu_hours > 0 ? std::optional(user->gpu_hours / week.all.gpu_hours) : std::nullopt;
    const std::optional<double> cores =
        user->asked_core_hours > 0 ? std::optional(user->used_of_asked / user->asked_core_hours)
                                   : std::nullopt;
    table.rows.push_back({name, fmt::format("{}", user->jobs), Hours(user->gpu_hours),
                          Or(share, Percent), IdleText(*user), Hours(user->failed_hours),
                          Or(cores, Percent)});
    if (priced) table.rows.back().push_back(CostOf(parts, name));
  }
  return table;
}

HtmlTable WasteRows(const WeekParts& parts, const Week& week) {
  HtmlTable table{{{"what", Align::kLeft}, {"how much", Align::kRight}, {"by", Align::kLeft}}, {}};
  for (const Waste& waste : WasteOf(parts, week)) {
    table.rows.push_back({waste.what, waste.how_much, waste.by});
  }
  return table;
}

HtmlTable WaitRows(const Week& week) {
  HtmlTable table{{{"user", Align::kLeft},
                   {"jobs", Align::kRight},
                   {"wait, mean", Align::kRight},
                   {"median", Align::kRight},
                   {"99 %", Align::kRight},
                   {"longest", Align::kRight},
                   {"completion, mean", Align::kRight},
                   {"99 %", Align::kRight},
                   {"speed against a machine alone", Align::kRight}},
                  {}};
  for (const auto& [name, user] : Ranked(week)) {
    table.rows.push_back(
        {name, fmt::format("{}", user->jobs), TimeText(MeanOf(user->waits)),
         TimeText(Quantile(user->waits, 0.5)), TimeText(Quantile(user->waits, 0.99)),
         TimeText(Quantile(user->waits, 1)), TimeText(MeanOf(user->completions)),
         TimeText(Quantile(user->completions, 0.99)), Or(MeanOf(user->speeds), Percent)});
  }
  return table;
}

HtmlTable SizeTable(const Week& week) {
  HtmlTable table{{{"size", Align::kLeft},
                   {"jobs", Align::kRight},
                   {"wait, mean", Align::kRight},
                   {"99 %", Align::kRight},
                   {"completion, mean", Align::kRight},
                   {"99 %", Align::kRight}},
                  {}};
  for (const simulation::GroupTimes& size : week.by_size) {
    table.rows.push_back({std::string(simulation::SizeInWords(size.name)),
                          fmt::format("{}", size.jobs), TimeText(size.wait_mean),
                          TimeText(size.wait_p99), TimeText(size.jct_mean),
                          TimeText(size.jct_p99)});
  }
  return table;
}

HtmlTable WaitingNow(const WeekParts& parts) {
  HtmlTable table{{{"job", Align::kRight},
                   {"user", Align::kLeft},
                   {"name", Align::kLeft},
                   {"waits", Align::kRight},
                   {"why", Align::kLeft}},
                  {}};
  for (const JobRecord& job : parts.jobs) {
    if (job.phase != core::Phase::kWaiting && job.phase != core::Phase::kHeld) continue;
    const core::Seconds waits(
        static_cast<double>(std::max<UnixMillis>(parts.to - job.submitted, 0)) / 1e3);
    table.rows.push_back({fmt::format("{}", job.number), job.user.name,
                          core::DisplayName(job.asked), Duration(waits),
                          job.reason.empty() ? "unknown" : job.reason});
  }
  return table;
}

Bars UserBars(const Week& week) {
  Bars bars;
  bars.title = "by user";
  bars.subtitle = "GPU hours of jobs; those that share a GPU count one by one";
  BarPanel used{"GPU hours", {}}, idle{"of them known to be idle", {}};
  BarPanel wait{"median wait", {}};
  for (const auto& [name, user] : Ranked(week)) {
    if (used.bars.size() == kMostWeekBars) break;
    const std::string label = CutTo(PlainText(name), kMostUserLabel);
    used.bars.push_back({label, user->gpu_hours, Hours(user->gpu_hours)});
    idle.bars.push_back(
        {label, user->idle_hours, user->known_hours > 0 ? Hours(user->idle_hours) : "unknown"});
    const auto median = Quantile(user->waits, 0.5);
    wait.bars.push_back({label, median.value_or(0), median ? TimeText(median) : "unknown"});
  }
  bars.panels = {std::move(used), std::move(idle), std::move(wait)};
  return bars;
}

// How many jobs hold GPUs, how many wait, and how many GPUs there are, over the time.
LineChart OverTime(const WeekParts& parts) {
  const double length = static_cast<double>(parts.to - parts.from) / 86400e3;
  ChartLine held{"GPUs held, job by job", {}, {}}, waiting{"jobs that wait", {}, {}};
  ChartLine there{"GPUs now there", {}, {}};
  double most = static_cast<double>(parts.gpus.size());
  for (int i = 0; i <= kWeekPoints; ++i) {
    const double day = length * i / kWeekPoints;
    const auto at = parts.from + static_cast<UnixMillis>(day * 86400e3);
    double gpus = 0, waits = 0;
    for (const JobRecord& job : parts.jobs) {
      if (job.submitted > at || job.ended.value_or(parts.to + 1) <= at) continue;
      if (!job.started || *job.started > at) {
        if (job.phase != core::Phase::kHeld) ++waits;
      } else {
        gpus += static_cast<double>(job.gpus.size());
      }
    }
    held.points.push_back({day, gpus, 0, ""});
    waiting.points.push_back({day, waits, 0, ""});
    there.points.push_back({day, static_cast<double>(parts.gpus.size()), 0, ""});
    most = std::max({most, gpus, waits});
  }
  LineChart chart;
  chart.title = "GPUs and jobs over time";
  chart.subtitle = UtcTime(parts.from) + " UTC to " + UtcTime(parts.to) + " UTC";
  chart.x = {"days", 0, length, parts.from, 86400e3};
  chart.y = AxisUpTo("GPUs, jobs", most);
  chart.lines = {std::move(held), std::move(waiting)};
  if (!parts.gpus.empty()) chart.lines.push_back(std::move(there));
  return chart;
}

std::string EnergyText(const std::optional<double>& kwh) {
  return kwh ? Number(*kwh, 2) + " kWh" : "unknown";
}

std::string SavedInShort(const WeekParts& parts) {
  if (!parts.savings) return "unknown";
  const simulation::SavingsSide saved = simulation::SavedOf(*parts.savings);
  return fmt::format("{} of {} GPU hours; energy: {}", Hours(saved.gpu_hours),
                     Hours(parts.savings->exclusive.gpu_hours), EnergyText(saved.energy_kwh));
}

void AddSavings(HtmlPage& page, const WeekParts& parts) {
  page.Section("What sharing saved");
  if (!parts.savings) {
    page.Text(parts.no_savings.empty() ? "Unknown."
                                       : "Unknown: the server says: " + parts.no_savings + ".");
    return;
  }
  const simulation::Savings& savings = *parts.savings;
  const simulation::SavingsSide saved = simulation::SavedOf(savings);
  HtmlTable table{{{"", Align::kLeft},
                   {"really", Align::kRight},
                   {"exclusive slots", Align::kRight},
                   {"saved", Align::kRight}},
                  {}};
  const auto row = [&](const char* name, auto text) {
    table.rows.push_back({name, text(savings.really), text(savings.exclusive), text(saved)});
  };
  // What is saved may be below nought.
  const auto time = [](const std::optional<double>& seconds) {
    if (!seconds || *seconds >= 0) return TimeText(seconds);
    return "−" + TimeText(-*seconds);
  };
  using Side = simulation::SavingsSide;
  row("GPU hours held", [](const Side& side) { return Hours(side.gpu_hours); });
  row("energy of held GPUs", [](const Side& side) { return EnergyText(side.energy_kwh); });
  row("makespan", [&](const Side& side) { return time(side.makespan); });
  row("completion time, mean", [&](const Side& side) { return time(side.jct_mean); });
  row("waiting, mean", [&](const Side& side) { return time(side.wait_mean); });
  page.Rows(table);
  page.Text(fmt::format("{} held GPUs in this time, and {} of them shared one.",
                        core::Count(savings.jobs, "job"), savings.shared));
  page.Quiet(simulation::kHowSavingsAreFound);
  page.Listed(savings.remarks);
}

void AddOtherPolicies(HtmlPage& page, const WeekParts& parts) {
  const double days = static_cast<double>(parts.to - parts.from) / 86400e3;
  page.Quiet(
      fmt::format("`sharewell whatif --policy slot,sharewell --days {:.0f}` plays the same jobs "
                  "under other policies.",
                  std::max(1.0, std::round(days))));
}

void AddShort(HtmlPage& page, const WeekParts& parts, const Week& week) {
  const double hours = static_cast<double>(parts.to - parts.from) / 3600e3;
  const double capacity = hours * static_cast<double>(parts.gpus.size());
  std::size_t shared = 0, started = 0;
  for (const JobRecord& job : parts.jobs) {
    if (!job.started || job.gpus.empty()) continue;
    ++started;
    if (!job.beside.empty()) ++shared;
  }
  page.Facts(
      {{"jobs", fmt::format("{}, of which {} failed", week.all.jobs, week.all.failed)},
       {"GPU hours of jobs",
        fmt::format("{}{}", Hours(week.all.gpu_hours),
                    capacity > 0
                        ? fmt::format("; the {} had {}", core::Count(parts.gpus.size(), "GPU"),
                                      Hours(capacity))
                        : "; how many GPUs there are is unknown")},
       {"given and not busy", week.all.known_hours > 0
                                  ? IdleText(week.all) + " GPU hours of which it is known"
                                  : "unknown"},
       {"of failed or cancelled jobs", Hours(week.all.failed_hours) + " GPU hours"},
       {"started beside another job", started > 0 ? fmt::format("{} of {}", shared, started) : "-"},
       {"waiting",
        fmt::format("median {}, 95 % {}, longest {}", TimeText(Quantile(week.all.waits, 0.5)),
                    TimeText(Quantile(week.all.waits, 0.95)),
                    TimeText(Quantile(week.all.waits, 1)))},
       {"fairness of users (Jain)", week.jain ? Number(*week.jain, 3) + "; 1 is even" : "unknown"},
       {"saved against exclusive GPUs", SavedInShort(parts)}});
}

// Who waited longest: "ann's job 17 waited 4h 10m, longer than all others".
std::string LongestWait(const WeekParts& parts) {
  const JobRecord* longest = nullptr;
  double most = 0;
  for (const JobRecord& job : parts.jobs) {
    const bool waits = job.phase == core::Phase::kWaiting && !job.started;
    if (!job.started && !waits) continue;
    const double waited = static_cast<double>(job.started.value_or(parts.to) - job.submitted) / 1e3;
    if (waited <= most) continue;
    most = waited;
    longest = &job;
  }
  if (longest == nullptr) return "no job waited";
  return fmt::format("job {} of {} waited longest, {}", longest->number,
                     PlainText(longest->user.name), TimeText(most));
}

// "12 jobs of 3 users; GPUs were held for 80.0 hours; without sharing it would have been 95.0
// hours; job 17 of ann waited longest, 4h 10m."
void OpenWeek(HtmlPage& page, const WeekParts& parts, const Week& week) {
  std::string sentence =
      fmt::format("{} of {}; GPUs were held for {} hours", core::Count(week.all.jobs, "job"),
                  core::Count(week.users.size(), "user"),
                  Hours(parts.savings ? parts.savings->really.gpu_hours : week.all.gpu_hours));
  std::optional<double> saved;
  if (parts.savings) saved = simulation::SavedOf(*parts.savings).gpu_hours;
  if (saved && *saved > 0) {
    sentence += fmt::format("; without sharing it would have been {} hours",
                            Hours(parts.savings->exclusive.gpu_hours));
  }
  const auto hours = [](double value) { return Hours(value) + " GPU hours"; };
  const bool known = week.all.known_hours > 0 || week.all.failed_hours > 0;
  std::vector<PageFigure> figures = {
      {Or(saved, hours), "saved by sharing"},
      {known ? hours(week.all.wasted_hours) : kUnknown, "idle, failed or cancelled"}};
  if (HasCost(parts)) {
    figures.push_back({Number(*parts.usage->all.cost, 2), CostHeading(parts)});
  } else {
    figures.push_back({TimeText(Quantile(week.all.waits, 0.5)), "median wait"});
  }
  page.Opens(fmt::format("{}; {}.", sentence, LongestWait(parts)), figures);
}

}  // namespace

std::string WeekReport(const WeekParts& parts, std::string_view made) {
  const Week week = FiguresOf(parts);
  const double days = static_cast<double>(parts.to - parts.from) / 86400e3;
  HtmlPage page(days == 7 ? "The week on " + parts.server
                          : fmt::format("{:.0f} days on {}", days, parts.server),
                fmt::format("{} to {} UTC", UtcTime(parts.from), UtcTime(parts.to)), made);
  if (week.all.jobs > 0) OpenWeek(page, parts, week);
  page.Section("In short");
  if (week.all.jobs == 0) {
    page.Text("No job was there in this time.");
    return std::move(page).Take();
  }
  AddShort(page, parts, week);
  if (parts.cut) {
    page.Quiet("The server has more jobs than were read: the oldest ones are missing here.");
  }
  page.Section("What mends it");
  const auto mending = MendingOf(parts);
  if (mending.empty()) page.Text("Nothing stands out.");
  page.Listed(mending);
  page.Section("Use and waste");
  page.Chart("over-time", "GPUs that jobs held, and jobs that waited.", OverTime(parts));
  page.Chart("users", "GPU hours, idle GPU hours and median wait of each user.", UserBars(week));
  page.Rows(UseRows(parts, week), kMostWeekUsers);
  if (parts.usage && !parts.usage->unpriced.empty() && HasCost(parts)) {
    page.Quiet(UnpricedInWords(*parts.usage));
  }
  page.Rows(WasteRows(parts, week));
  page.Quiet(
      "A job's GPU hours are its run time in these days, times its GPUs; two jobs that share a GPU "
      "for an hour have two. Not busy is what the job was seen to leave idle while it had its GPU "
      "alone; of the other hours it is unknown.");
  AddSavings(page, parts);
  AddOtherPolicies(page, parts);
  page.Section("Waiting and fairness");
  page.Rows(SizeTable(week));
  page.Rows(WaitRows(week), kMostWeekUsers);
  page.Quiet(
      "Wait is from submission to the first start, of a job that still waits up to now; completion "
      "from submission to the end, of finished jobs. "
      "Speed is the time that a finished job would have taken alone over the time from its "
      "submission to its end: 100 % is a machine of one's own. The index is Jain's, over the means "
      "of the users.");
  page.Section("Waiting now");
  const HtmlTable waiting = WaitingNow(parts);
  if (waiting.rows.empty()) page.Text("No job waits.");
  page.Rows(waiting, kMostWaitingRows);
  return std::move(page).Take();
}

}  // namespace sharewell::report
