// What a run is asked to be: whose, where, with which bounds.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/job/job_record.h"
#include "core/units.h"

namespace sharewell::engine {

// One start of one job: its folder is named so, and is made once.
struct RunId {
  std::int64_t job = 0;
  int attempt = 0;

  friend auto operator<=>(const RunId&, const RunId&) = default;
};

// What the manager demands of where and when a job starts.
struct StartTerms {
  int gpus_a_node = 0;             // on each of its nodes, the same ones by number; 0: as it comes
  std::vector<std::string> nodes;  // it may run on these alone; empty: any
  std::string waits_for;           // it cannot start now, in words; empty: it can
  double weight = 1;               // of its user, as the manager has it; above 0
  int priority = 0;                // as the manager has it, which says who may have which
  bool preempts = false;           // jobs of lower priority give way where it finds no place
  // So many tasks of its array run at once, as the manager has it now; 0: as it was submitted.
  int array_at_once = 0;
  bool keeps_place = false;  // it never gives way: nothing would start it again

  friend bool operator==(const StartTerms&, const StartTerms&) = default;
};

struct RunRequest {
  RunId id;
  core::Account user;
  core::Submission asked;
  std::vector<std::string> nodes;    // by name: those of its GPUs, or the one of a CPU-only job
  std::vector<core::GivenGpu> gpus;  // node by node
  double cores = 0;                  // 0: not bounded
  // On a GPU that others may share: what it may take of it. Absent: not bounded.
  std::optional<core::Ratio> thread_share;
  std::optional<core::Bytes> gpu_memory;  // pinned device memory limit
  // It starts as a guest (core::Allocation): so much of the GPU's memory, after its neighbours.
  std::optional<core::Bytes> guest_memory;
  // In an earlier run as a guest its job ran out of memory, with so much of it.
  std::optional<core::Bytes> guest_oom;
  // What it is believed to need of each GPU at most. Absent: not known.
  std::optional<core::Bytes> expected_memory;
  bool shares = false;  // others are, or may come to be, on the same GPU
  // Of one that Recover found. Moments: 0 where they are not known.
  StartTerms terms = {};
  core::UnixMillis submitted = 0, started = 0;
};

}  // namespace sharewell::engine
