// Reading Slurm: each cycle as text with the fields that are needed, jobs that were not seen before
// as JSON (10,000 jobs as JSON take seconds). Every reader takes what any version from 22.05 on
// prints, and refuses with a message what it cannot read: nothing is guessed, nothing half read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// What is looked at in every cycle, a line a job (array tasks that were not split are one line).
struct SlurmQueueLine {
  std::int64_t id = 0;
  SlurmPhase phase = SlurmPhase::kPending;
  std::int64_t priority = 0;
  std::string reason;
  std::vector<std::string> nodes;
  std::string partition;
  int cpus = 0;  // that it has, or asks for

  friend bool operator==(const SlurmQueueLine&, const SlurmQueueLine&) = default;
};
// The command to run, and the reader of what it prints. `partition`: empty: all.
std::vector<std::string> QueueCommand(const std::string& partition);
core::Result<std::vector<SlurmQueueLine>> ParseQueue(std::string_view text);

// `squeue --json`, both shapes; ended jobs too, as long as Slurm remembers them (MinJobAge). `ids`:
// empty: all jobs. More than these may be told: 22.05 does not look at what it was asked for.
std::vector<std::string> JobsCommand(const std::vector<std::int64_t>& ids);
core::Result<std::vector<SlurmJob>> ParseJobs(std::string_view json);

// `scontrol show job -o -d ID`, where there is no JSON. Names and comments are anybody's words,
// with line breaks: what could be read in two ways is refused, but a record that was made up as a
// whole cannot be told from Slurm's. Ask for one job, and take nothing but that job. And `scontrol
// show node -o`, where only admins write.
core::Result<std::vector<SlurmJob>> ParseShowJob(std::string_view text);
std::vector<std::string> NodesCommand();
core::Result<std::vector<SlurmNode>> ParseNodes(std::string_view text);

// `scontrol show reservation -o`.
std::vector<std::string> ReservationsCommand();
core::Result<std::vector<SlurmReservation>> ParseReservations(std::string_view text);

// `scontrol show partition -o`: how long a job may run there at most. Absent: there is no bound.
std::vector<std::string> PartitionsCommand();
core::Result<std::map<std::string, core::Seconds>> ParsePartitionLimits(std::string_view text);

// `sacct` of jobs that Slurm itself has forgotten; one of them. Absent: accounting has it neither.
std::vector<std::string> AccountCommand(const std::vector<std::int64_t>& ids);
core::Result<std::optional<SlurmJob>> ParseAccount(std::string_view text, std::int64_t id);

// "n[1-3,7],m01" -> its names, at most `most`.
core::Result<std::vector<std::string>> ExpandHosts(std::string_view list, std::size_t most = 65536);
// "0-9%2" -> tasks.
core::Result<std::vector<std::int64_t>> ExpandTasks(std::string_view list,
                                                    std::size_t most = 65536);

// One value of a `scontrol` command line ("Name=VALUE"), safe whatever it holds; an error where it
// cannot be (newlines, control characters).
core::Result<std::string> ScontrolValue(std::string_view value);

}  // namespace sharewell::engine
