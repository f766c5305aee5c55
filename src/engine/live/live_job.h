// A job as the live engine keeps it, and its attempts: one whose process is there or on its way,
// and one that is to begin when its place is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/job/job.h"
#include "core/job/job_metrics.h"
#include "core/plan.h"
#include "core/units.h"
#include "engine/live/live_work.h"
#include "engine/run_request.h"

namespace sharewell::engine {

// One run of a job, to come or under way.
struct Attempt {
  // Why it was told to end.
  enum class Why : std::uint8_t {
    kPlan,     // the loop decided so, and already counts it as stopped or moved
    kRequeue,  // the loop is told once it is gone
    kFail,     // likewise
  };
  enum class Paused : std::uint8_t { kNo, kPausing, kPaused, kResuming };

  core::Allocation Place() const;
  // Its process waits, or is about to.
  bool Waits() const { return paused == Paused::kPaused || paused == Paused::kPausing; }

  RunRequest request;
  std::vector<core::GpuId> gpus;
  core::NodeId node;                     // of a CPU-only job
  std::optional<core::Seconds> profile;  // tell when it has run alone for so long
  core::Ratio share = 1;
  std::optional<core::Seconds> began;  // absent: to come, or an earlier server began it
  std::optional<core::Seconds> profiled_at;
  core::Seconds attained;     // by its job, when it began
  bool started = false;       // told so
  std::optional<Why> leaves;  // absent: it was not told to
  Paused paused = Paused::kNo;
  bool asked_to_pause = false;  // somebody asked, no plan: the loop counts it as running
  bool wanted_back = false;     // it is to be resumed when its place is free
  bool was_told = false;        // to leave, whatever became of it
  std::string refused;          // why it does not leave; empty: nobody said so
  bool taken_back = false;      // the loop is to be told that it runs
  std::optional<core::Seconds> stays_until;  // it is not stopped again; told as JobView::stays
  std::optional<core::Seconds> stop_again;   // it is to leave all the same
};

struct JobEntry {
  // Its process is there and works, or is about to.
  bool Runs() const { return run && !run->leaves && !run->Waits(); }
  bool IsPaused() const { return run && !run->leaves && run->Waits(); }

  RunRequest request;  // as it was submitted; its id is that of the last attempt
  LiveWork work;
  std::vector<core::ToldMetric> metrics;  // the last that it told of itself
  bool exclusive = false;
  bool believed = false;  // the loop counts it as running
  bool over = false;      // finished or failed, told or about to be
  int ooms = 0;           // a guest's first is not among them: it is request.guest_oom
  int evictions = 0;
  int refusals = 0;                       // one after the other
  int refused_stops = 0;                  // likewise
  core::Seconds not_before;               // it is not started again
  std::optional<Attempt> run;             // its process is there, or on its way
  std::optional<Attempt> next;            // to be started when its place is free
  std::optional<core::Bytes> gpu_memory;  // that it has; absent: not known
  // What its last run that ended was kept to as a guest; absent: it was none.
  std::optional<core::Bytes> was_guest;
};

inline core::Allocation Attempt::Place() const {
  core::Allocation place;
  place.gpus = gpus;
  place.node = node;
  place.cores = request.cores;
  place.sm_share = request.thread_share.value_or(1);
  place.guest_memory = request.guest_memory;
  return place;
}

}  // namespace sharewell::engine
