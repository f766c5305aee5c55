// Summary: what one simulated run comes to. Unknown is absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/world.h"
#include "simulation/group_times.h"
#include "simulation/scenario.h"
#include "simulation/starts/starts_score.h"

namespace sharewell::simulation {

// The names, among those of policies, of what sharewell-lab solves instead of simulating: the least
// makespan without sharing, and with it.
inline constexpr std::string_view kOptimal = "optimal";
inline constexpr std::string_view kOptimalShared = "optimal-shared";
inline constexpr std::string_view kOptima[] = {kOptimal, kOptimalShared};

struct Distribution {
  std::optional<double> mean, p50, p95, p99;
};

// Of one project, whether it had jobs or not.
struct ProjectTimes {
  GroupTimes times;
  core::Ratio share = 0;
  double gpu_hours = 0;  // of its jobs: of a GPU that several share, each counts all

  friend bool operator==(const ProjectTimes&, const ProjectTimes&) = default;
};

struct Summary {
  std::string policy;    // as given on the command line
  bool history = false;  // what really happened: moves and memory were not recorded
  std::size_t jobs = 0, finished = 0, failed = 0, infeasible = 0, unfinished = 0;
  std::optional<double> makespan;   // first submission to last finish, seconds
  Distribution jct, queueing, run;  // seconds; of finished jobs (queueing: of started ones)
  std::optional<double> busy, sm;   // mean over GPUs and makespan, 0..1
  std::optional<double> allocated;
  std::optional<double> slowdown_mean, slowdown_p95;  // by neighbours
  std::uint64_t ooms = 0, resubmissions = 0, moves = 0;
  // Absent: nobody looked at bounds. What the starts after evictions took, restarts and start-up.
  std::optional<std::uint64_t> evictions;
  std::optional<double> evicted_gpu_hours;
  // Of the moves, those for a project below its share; absent: projects take nothing back.
  std::optional<std::uint64_t> reclaims;
  std::optional<double> jain;  // over users, of time alone over completion time
  std::optional<double>
      finish_time_fairness;  // worst user's mean of completion time over time alone
  double gpu_hours = 0;
  std::optional<double> energy_kwh;
  std::optional<double> cores_reserved, cores_used;  // mean over the makespan
  // Timings: not part of "same seed, same bytes".
  std::optional<double> decision_p50, decision_p99;
  std::optional<double> jobs_per_cpu_second;
  std::optional<double> distance_from_optimal;  // makespan over the optimum's, less 1
  std::optional<StartsScores> starts;           // where they were asked for
  // The same over the bound of all schedules that share GPUs (shared_optimum.h).
  std::optional<double> distance_from_shared_optimum;
  std::vector<GroupTimes> by_size, by_user;
  std::vector<ProjectTimes> by_project;  // by ProjectId; empty: there are none
};

Summary Summarise(const Scenario& scenario, const sim::World& world, std::string policy,
                  const std::vector<double>& decision_seconds, double cpu_seconds);

// Why no energy can be told: the GPU models, or jobs, whose power is not known. Empty: it can be.
std::string WhyNoEnergy(const Scenario& scenario);

// Of a run with the guard.
void CountEvictions(const Scenario& scenario, const sim::World& world, Summary& to);

}  // namespace sharewell::simulation
