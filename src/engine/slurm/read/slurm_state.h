// What Slurm knows of a job and of a node, as far as a decision needs it: plain data, whichever
// version and form it was read from (slurm_text.cc, slurm_json.cc). What Slurm did not say is
// absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/units.h"

namespace sharewell::engine {

enum class SlurmPhase : std::uint8_t {
  kPending,
  kConfiguring,  // it has its nodes, its first process is not there yet
  kRunning,
  kSuspended,
  kCompleting,  // it ends, its nodes are not free yet
  kCompleted,
  kCancelled,
  kFailed,  // by itself: exit code
  kTimedOut,
  kNodeFailed,  // or it could not be launched (BOOT_FAIL)
  kPreempted,
  kOutOfMemory,
  kOther,  // a word of a newer Slurm
};
constexpr bool IsOver(SlurmPhase phase) {
  return phase >= SlurmPhase::kCompleted && phase != SlurmPhase::kOther;
}

// GPUs of one node by slot: "g1" and how many of its 100 shards, which stand for its memory.
struct SlurmSlot {
  std::string slot;
  int shards = 0;

  friend bool operator==(const SlurmSlot&, const SlurmSlot&) = default;
};

struct SlurmJob {
  std::int64_t id = 0;
  // A task of an array: the array's id and the task. A pending array that was not split yet has no
  // task and `array_tasks` instead ("0-9%2").
  std::optional<std::int64_t> array;
  std::optional<std::int64_t> array_task;
  std::string array_tasks;
  std::optional<int> array_at_once;  // so many of its tasks run at once, as it stands now
  std::string name;
  std::string user;
  std::uint32_t uid = 0, gid = 0;
  std::string account, qos, partition;
  SlurmPhase phase = SlurmPhase::kPending;
  std::string phase_word;     // as Slurm has it: "RUNNING"
  std::string reason;         // "JobHeldUser", "Dependency", "Resources"; "None" is empty
  std::int64_t priority = 0;  // 0: held
  int cpus = 0;               // of all its nodes
  int nodes_wanted = 1;
  std::optional<core::Bytes> memory;  // of a node
  std::vector<std::string> nodes;     // where it runs, or ran
  std::vector<std::string> required_nodes;
  std::vector<SlurmSlot> slots;  // that it asks for on each node, or has; of shards alone
  std::string gres;              // what it asks for as Slurm words it, for what is no shard of ours
  std::string dependency, reservation, features;
  std::string comment;        // the user's
  std::string admin_comment;  // job_note.h, in admin mode
  std::string script;         // path of the batch script; empty: none (srun, salloc)
  std::string folder;         // its working directory
  std::string standard_output;
  std::optional<core::Seconds> time_limit;
  std::optional<core::UnixMillis> submitted, started, ended, eligible;
  std::optional<int> exit_code;  // 128 + signal
  int restarts = 0;
  bool requeue = true;
  int tasks = 1;
  int cpus_a_node = 0;         // at least; 0: not said
  bool memory_by_cpu = false;  // fewer CPUs would be less memory
  int nodes_most = 0;          // of one that waits; 0: no bound was asked for
  std::vector<std::string> excluded_nodes = {};
  bool whole_nodes = false;  // --exclusive: Slurm gives it all CPUs and GPUs of its nodes
  // Of one that runs the GPUs that it has, whole or by shards, however it asked for them: slots by
  // node. A node that is not there: Slurm did not tell.
  std::map<std::string, std::vector<std::string>> held_slots = {};

  friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

struct SlurmNode {
  std::string name;
  std::vector<std::string> states;  // "IDLE", "DRAIN", "DOWN", "NOT_RESPONDING", ...
  bool up = false;                  // jobs may be started there
  std::string reason;               // why it is not up, as an admin or Slurm wrote it
  int cpus = 0;
  core::Bytes memory{};
  std::vector<std::string> slots;  // "g0", "g1": GPUs with 100 shards each
  int other_gpus = 0;              // GPUs that have no shards
  std::vector<std::string> features;
  std::vector<std::string> partitions;
  bool reserved = false;               // now, for whom a reservation names
  std::vector<std::string> gpu_types;  // of GPUs that have no shards: "V100"
  int cpus_used = 0;                   // by jobs of any partition
  core::Bytes memory_used{};           // likewise; none where Slurm does not give memory out
  std::string extra;                   // its field Extra; of several words the first

  friend bool operator==(const SlurmNode&, const SlurmNode&) = default;
};

struct SlurmReservation {
  std::string name;
  std::vector<std::string> nodes;
  core::UnixMillis start = 0;
  std::optional<core::UnixMillis> end;

  friend bool operator==(const SlurmReservation&, const SlurmReservation&) = default;
};

}  // namespace sharewell::engine
