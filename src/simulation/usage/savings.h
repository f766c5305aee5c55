// Savings: what sharing GPUs gave, found by playing a server's own history again with exclusive
// slots, where a GPU is one job's until that job ends.
//
// Both sides do the same work in the same time. The replay keeps to what really happened as far as
// it can, so that what differs is due to sharing alone:
//   - Jobs start in the order in which they really started. A later job may go before an earlier
//     one where that delays nobody (it knows how long each takes, which favours exclusive slots).
//   - Where another job had left one of its GPUs while it waited, or a job that it comes after had
//     ended, it is ready as long after that end in the replay as it really started after it,
//     however early or late that is. Else it is ready when it really started.
//   - It takes its own GPUs where they are free then, else the first of the same model that are, on
//     one machine where it was on one.
//   - A job that shared a GPU takes the time that it would have taken alone (measured or believed
//   by
//     the server, JobRecord::alone_time); one that did not takes what it took.
// So a history in which nobody shared is played as it was, and nothing is saved, exactly.
//
// GPU hours are those of GPUs that some job holds; a shared GPU counts once. Energy is that of GPUs
// while they are held (gpu_time.h): idle power is charged to whoever holds a GPU, and what nobody
// holds is counted on neither side.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "simulation/usage/gpu_time.h"

namespace sharewell::simulation {

// Unknown is absent.
struct SavingsSide {
  double gpu_hours = 0;
  std::optional<double> energy_kwh;
  std::optional<double> makespan;             // seconds, from the first submission to the last end
  std::optional<double> jct_mean, wait_mean;  // seconds; of jobs that ended, of jobs that started

  friend bool operator==(const SavingsSide&, const SavingsSide&) = default;
};

struct Savings {
  SavingsSide really, exclusive;
  std::size_t jobs = 0, shared = 0;  // that held GPUs; that shared one with another at some time
  std::vector<std::string> remarks;  // what was assumed, one sentence each
};

// How it is computed, for people: two sentences.
extern const char* const kHowSavingsAreFound;

// What exclusive slots would have taken more; below 0, less.
SavingsSide SavedOf(const Savings& savings);

// Jobs that run are cut at the end of the time on both sides.
Savings SavingsOf(const GpuTime& world, TimeSpan time);

}  // namespace sharewell::simulation
