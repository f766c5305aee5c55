// The figures behind a week's report, by user. For week_report.cc.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/html/week_report.h"
#include "simulation/group_times.h"

namespace sharewell::report {

// Hours of jobs are times GPUs: two jobs that share a GPU for an hour have two.
struct UserWeek {
  std::size_t jobs = 0, failed = 0;
  double gpu_hours = 0;
  double known_hours = 0;   // of which it is known how busy the GPU was
  double idle_hours = 0;    // of those, given and not busy
  double failed_hours = 0;  // of jobs that failed or were cancelled
  double wasted_hours = 0;  // those, and of the others `idle_hours`
  // Of jobs whose use was seen; of cores that they asked for, and that the server chose for them.
  double asked_core_hours = 0, used_of_asked = 0;
  double chosen_core_hours = 0, used_of_chosen = 0;
  std::vector<double> waits;        // seconds; of those that wait, so far
  std::vector<double> completions;  // seconds from submission to end, of finished jobs
  std::vector<double> speeds;       // time alone over time from submission to end, of ended jobs

  void Add(const UserWeek& other);
};

struct Week {
  std::map<std::string, UserWeek> users;
  UserWeek all;
  std::optional<double> jain;  // over users, of the means of `speeds`
  std::vector<simulation::GroupTimes> by_size;
};

Week FiguresOf(const WeekParts& parts);

// The GPU hours of one job within the time.
double GpuHoursOf(const core::JobRecord& job, core::UnixMillis from, core::UnixMillis to);

// Something that was held and did no good, and by whose doing.
struct Waste {
  std::string what, how_much, by;
};
// What the server itself chose is laid to the server. Causes of which nothing is known or that did
// not happen are left out.
std::vector<Waste> WasteOf(const WeekParts& parts, const Week& week);

// What to do about the worst of it: a sentence with a command each; the costliest first.
std::vector<std::string> MendingOf(const WeekParts& parts);

}  // namespace sharewell::report
