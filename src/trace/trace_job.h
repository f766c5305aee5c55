// One line of a trace, in the words of the trace: what every format is read into. Turning names
// into ids, drawing workloads for jobs without one, and stretching durations to other GPU models is
// the study's work, not the reader's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/profile.h"
#include "core/units.h"

namespace sharewell::trace {

struct TraceJob {
  std::size_t line = 0;                    // in the file, from 1; 0: not from a file with lines
  std::string id;                          // unique in the trace
  std::string user;                        // empty: not stated
  core::Seconds submit;                    // from the first job's submission
  int gpus = 1;                            // 0: a CPU-only job
  std::optional<core::Seconds> duration;   // alone, on the cluster's first GPU model
  std::optional<double> steps;             // work in steps, where the trace has no duration (Gavel)
  std::optional<core::Workload> workload;  // absent: drawn by seed from the catalogue
  std::optional<core::Ratio> busy;  // the trace's own GPU share of a step (Muri), of a GPU (openb)
  std::optional<double> cores;      // asked for, in all
  std::optional<core::Bytes> host_memory;              // asked for, in all
  std::optional<core::BytesPerSecond> host_bandwidth;  // host memory traffic, in all
  std::optional<core::Bytes> gpu_memory;               // a GPU
  std::vector<std::string> gpu_models;                 // allowed; empty: any
  bool exclusive = false;
  std::optional<core::Ratio> sm_share;  // its user insists on it; absent: the policy decides
  int priority = 0;
  std::optional<core::Seconds> restart_cost;
  core::Seconds startup;  // before its first step, at every start; no part of its duration
  std::optional<core::Seconds> waited;  // what really happened there, beside what is simulated

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

// Sorted by submit, ties in the file's order.
struct Trace {
  std::string format;  // the reader's name: "philly"
  std::vector<TraceJob> jobs;
  std::vector<std::string> remarks;  // what the reader left out or assumed, one sentence each
};

}  // namespace sharewell::trace
