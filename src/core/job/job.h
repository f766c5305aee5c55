// Job: one submission, as its user stated it. How long it will really take and what it really needs
// are not here: those are truth (sim/truth.h) or belief (core/estimate.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::core {

// A job that was evicted so often is not put beside others again.
constexpr int kEvictionsAlone = 2;

struct Job {
  JobId id;
  std::string name;  // the trace's or the user's own id
  UserId user;
  WorkloadId workload;                     // not valid: nothing is known of what it trains
  int gpus = 1;                            // 0: a CPU-only job
  std::optional<double> cores;             // asked for, in all; absent: not stated
  std::vector<GpuModelId> allowed_models;  // empty: any
  bool exclusive = false;                  // never shares a GPU
  bool preempts = false;                   // where it finds no place, lower priorities give way
  bool keeps_place = false;                // it never gives way: it could not be started again
  int priority = 0;                        // higher goes first, within every order
  std::optional<Ratio> max_slowdown;       // by neighbours; absent: the policy's own bound
  std::optional<Ratio> sm_share;           // its user insists on it; absent: the policy decides
  std::optional<Bytes> host_memory;        // asked for, in all; absent: not stated
  Seconds submit;
  std::optional<Seconds> restart_cost;  // absent: the run's default
  int evicted = 0;                      // so often already: JobView::evictions goes on from there
  bool placeholder = false;             // nobody's: it keeps an unusable GPU from being used
  // Its manager gives it no more cores than were asked for, and cannot change them while it runs.
  bool cores_fixed = false;
  // Its manager starts it with so many GPUs on each of its nodes, the same ones by number on all of
  // them; 0: as it comes. A divisor of gpus.
  int gpus_a_node = 0;
  std::vector<NodeId> allowed_nodes;  // of a job with GPUs, rising; empty: any
  bool alone_until_known = false;     // it never starts as a guest (Allocation::guest_memory)
  bool no_guests = false;             // and no guest starts beside it
  std::optional<Bytes> guest_oom;     // as a guest it ran out of memory with so much of it
  ProjectId project = ProjectId(0);   // whose share it counts to
  double weight = 1;  // of its user among others, above 0: twice as much use counts the same

  friend bool operator==(const Job&, const Job&) = default;
};

}  // namespace sharewell::core
