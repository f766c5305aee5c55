#include "report/html/week_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/text/words.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::UnixMillis;

constexpr std::size_t kMostAdvice = 12;
constexpr double kIdleHours = 1;  // less is not worth a line
constexpr core::Ratio kHardlyBusy = 0.3;
constexpr double kLongWait = 4 * 3600;  // seconds
constexpr double kSpareCores = 2;

double SecondsBetween(UnixMillis from, UnixMillis to) {
  return static_cast<double>(std::max<UnixMillis>(to - from, 0)) / 1e3;
}

bool Waits(const JobRecord& job) { return job.phase == core::Phase::kWaiting && !job.started; }

bool IsIn(const JobRecord& job, UnixMillis from, UnixMillis to) {
  return job.submitted < to && job.ended.value_or(to) >= from;
}

// Time alone over time from submission to end: 1 is a machine of one's own.
std::optional<double> SpeedOf(const JobRecord& job) {
  if (!job.ended || job.phase != core::Phase::kFinished || !job.alone_time) {
    return std::nullopt;
  }
  const double took = SecondsBetween(job.submitted, *job.ended);
  return took > 0 ? std::optional(std::min(1.0, job.alone_time->value / took)) : std::nullopt;
}

UserWeek FiguresOfJob(const JobRecord& job, UnixMillis from, UnixMillis to) {
  UserWeek week;
  week.jobs = 1;
  week.gpu_hours = GpuHoursOf(job, from, to);
  if (job.seen.busy) {
    week.known_hours = week.gpu_hours;
    week.idle_hours = week.gpu_hours * (1 - std::clamp(*job.seen.busy, 0.0, 1.0));
  }
  if (job.phase == core::Phase::kFailed || job.phase == core::Phase::kCancelled) {
    week.failed = job.phase == core::Phase::kFailed ? 1 : 0;
    week.failed_hours = week.gpu_hours;
  }
  week.wasted_hours = week.failed_hours > 0 ? week.failed_hours : week.idle_hours;
  if (const auto ran = RanFor(job, to); ran && job.seen.cores && job.cores > 0) {
    const double given = job.cores * ran->value / 3600, used = *job.seen.cores * ran->value / 3600;
    (job.asked.cores ? week.asked_core_hours : week.chosen_core_hours) = given;
    (job.asked.cores ? week.used_of_asked : week.used_of_chosen) = used;
  }
  if (job.started) {
    week.waits = {SecondsBetween(job.submitted, *job.started)};
  } else if (Waits(job)) {
    week.waits = {SecondsBetween(job.submitted, to)};
  }
  if (job.phase == core::Phase::kFinished && job.ended) {
    week.completions = {SecondsBetween(job.submitted, *job.ended)};
  }
  if (const auto speed = SpeedOf(job)) week.speeds = {*speed};
  return week;
}

std::optional<double> JainOf(const std::map<std::string, UserWeek>& users) {
  double sum = 0, squares = 0, count = 0;
  for (const auto& [name, week] : users) {
    if (week.speeds.empty()) continue;
    const double mean = std::accumulate(week.speeds.begin(), week.speeds.end(), 0.0) /
                        static_cast<double>(week.speeds.size());
    sum += mean;
    squares += mean * mean;
    ++count;
  }
  if (count < 2 || squares <= 0) return std::nullopt;
  return sum * sum / (count * squares);
}

struct Advice {
  double weight;  // GPU hours, more or less
  std::string text;
};

void AdviseOnJob(const JobRecord& job, const WeekParts& parts, std::vector<Advice>& advice) {
  const std::string who = fmt::format("job {} of {}", job.number, PlainText(job.user.name));
  const double hours = GpuHoursOf(job, parts.from, parts.to);
  if (job.seen.busy && *job.seen.busy < kHardlyBusy) {
    const double idle = hours * (1 - *job.seen.busy);
    if (idle >= kIdleHours) {
      advice.push_back(
          {idle,
           fmt::format("{} held {} for {} GPU hours and kept it {} busy: `sharewell job {}` "
                       "shows what holds it up{}",
                       who, GpusInWords(job.gpus), Number(hours, 1), Percent(*job.seen.busy),
                       job.number,
                       HasItsPlace(job) ? fmt::format("; `sharewell cancel {}` ends it", job.number)
                                        : std::string())});
    }
  }
  // Of cores that the server chose nobody else is to blame.
  if (job.asked.cores && job.seen.cores && job.cores - *job.seen.cores >= kSpareCores) {
    const int enough = static_cast<int>(std::ceil(std::max(1.0, *job.seen.cores)));
    advice.push_back(
        {(job.cores - *job.seen.cores) / 100,
         fmt::format("{} asked for {} and used {}: `sharewell submit --cpus {} ...` would do", who,
                     core::Cores(job.cores), Number(*job.seen.cores, 1), enough)});
  }
  if (job.phase == core::Phase::kFailed && (hours >= kIdleHours || job.ooms > 0)) {
    advice.push_back(
        {hours, fmt::format("{} failed after {} GPU hours{}: `sharewell logs {} --err` shows the "
                            "end of it",
                            who, Number(hours, 1), job.ooms > 0 ? " for want of GPU memory" : "",
                            job.number)});
  }
  if (Waits(job) && SecondsBetween(job.submitted, parts.to) >= kLongWait) {
    advice.push_back({SecondsBetween(job.submitted, parts.to) / 3600,
                      fmt::format("{} has waited for {}: `sharewell why {}` tells the reason", who,
                                  Duration(core::Seconds(SecondsBetween(job.submitted, parts.to))),
                                  job.number)});
  }
}

}  // namespace

void UserWeek::Add(const UserWeek& other) {
  jobs += other.jobs;
  failed += other.failed;
  gpu_hours += other.gpu_hours;
  known_hours += other.known_hours;
  idle_hours += other.idle_hours;
  failed_hours += other.failed_hours;
  wasted_hours += other.wasted_hours;
  asked_core_hours += other.asked_core_hours;
  used_of_asked += other.used_of_asked;
  chosen_core_hours += other.chosen_core_hours;
  used_of_chosen += other.used_of_chosen;
  waits.insert(waits.end(), other.waits.begin(), other.waits.end());
  completions.insert(completions.end(), other.completions.begin(), other.completions.end());
  speeds.insert(speeds.end(), other.speeds.begin(), other.speeds.end());
}

double GpuHoursOf(const JobRecord& job, UnixMillis from, UnixMillis to) {
  const auto ran = RanFor(job, to);
  if (!ran || !job.started || job.gpus.empty()) return 0;
  // What it ran is spread evenly over its life: when earlier attempts ended is not recorded.
  const UnixMillis end = job.ended.value_or(to);
  const double life = SecondsBetween(*job.started, end);
  const double inside = SecondsBetween(std::max(*job.started, from), std::min(end, to));
  const double share = life > 0 ? std::clamp(inside / life, 0.0, 1.0) : 1;
  return ran->value * share * static_cast<double>(job.gpus.size()) / 3600;
}

Week FiguresOf(const WeekParts& parts) {
  Week week;
  simulation::GroupedTimes groups;
  const auto only = [](const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(values.front());
  };
  for (const JobRecord& job : parts.jobs) {
    if (!IsIn(job, parts.from, parts.to)) continue;
    const UserWeek one = FiguresOfJob(job, parts.from, parts.to);
    week.users[job.user.name].Add(one);
    week.all.Add(one);
    groups.Add(0, job.asked.gpus, only(one.waits), only(one.completions));
  }
  week.by_size = groups.BySize();
  week.jain = JainOf(week.users);
  return week;
}

std::vector<Waste> WasteOf(const WeekParts& parts, const Week& week) {
  double no_memory = 0, failed = 0, cancelled = 0;
  std::uint64_t evicted = 0;
  for (const JobRecord& job : parts.jobs) {
    if (!IsIn(job, parts.from, parts.to)) continue;
    const double hours = GpuHoursOf(job, parts.from, parts.to);
    if (job.phase == core::Phase::kFailed) (job.ooms > 0 ? no_memory : failed) += hours;
    if (job.phase == core::Phase::kCancelled) cancelled += hours;
    evicted += static_cast<std::uint64_t>(std::max(job.evicted, 0));
  }
  std::vector<Waste> rows;
  const auto add = [&](const char* what, double hours, const char* unit, const char* by) {
    if (hours > 0) rows.push_back({what, fmt::format("{} {}", Number(hours, 1), unit), by});
  };
  const UserWeek& all = week.all;
  if (all.known_hours > 0) {
    rows.push_back(
        {"GPUs that jobs held and did not keep busy",
         fmt::format("{} of {} GPU hours", Number(all.idle_hours, 1), Number(all.known_hours, 1)),
         "the jobs"});
  }
  add("jobs that failed for want of GPU memory", no_memory, "GPU hours", "the jobs");
  add("jobs that failed otherwise", failed, "GPU hours", "the jobs");
  add("jobs that were cancelled after they had started", cancelled, "GPU hours", "their users");
  add("cores that were asked for and not used", all.asked_core_hours - all.used_of_asked,
      "core hours", "their users");
  add("cores that the server chose and jobs did not use",
      all.chosen_core_hours - all.used_of_chosen, "core hours", "the server");
  if (evicted > 0) {
    rows.push_back({"runs that were evicted, as others would have fallen below their bound",
                    core::Count(evicted, "run") + "; how much work was lost is unknown",
                    "the server"});
  }
  return rows;
}

std::vector<std::string> MendingOf(const WeekParts& parts) {
  std::vector<Advice> advice;
  for (const JobRecord& job : parts.jobs) {
    if (IsIn(job, parts.from, parts.to)) AdviseOnJob(job, parts, advice);
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice& a, const Advice& b) { return a.weight > b.weight; });
  if (advice.size() > kMostAdvice) advice.resize(kMostAdvice);
  std::vector<std::string> lines;
  for (const GpuNow& gpu : parts.gpus) {
    const std::string name = GpuName(gpu.gpu);
    if (!gpu.problem.empty()) {
      lines.push_back(
          fmt::format("GPU {} is not used, as {}: `sharewell doctor` says what mends it", name,
                      PlainText(gpu.problem)));
    }
    if (gpu.drained) {
      lines.push_back(
          fmt::format("GPU {} is drained: `sharewell drain {} --undo` lets jobs onto it "
                      "again",
                      name, name));
    }
  }
  for (Advice& one : advice) lines.push_back(std::move(one.text));
  return lines;
}

}  // namespace sharewell::report
