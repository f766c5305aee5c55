// Engine: carries a plan out and says what happened: what the loop sees of a cluster, simulated or
// real. SimulatedEngine drives a simulated world; LiveEngine (live/live_engine.h) drives any Runner
// (runner.h), which is where processes, Slurm and Kubernetes differ. One thread.
#pragma once

#include <optional>
#include <vector>

#include "core/job/job.h"
#include "core/plan.h"
#include "core/units.h"

namespace sharewell::engine {

struct Progress {
  core::JobId job;
  core::Seconds attained;   // work done, in seconds alone on the reference model
  core::Ratio rate;         // work a second from now on
  core::Seconds startup{};  // of its time on GPUs, before a run's first step; what is known of it
};

// Whose process is alive while its job waits.
struct PausedJob {
  core::JobId job;
  std::optional<core::Allocation> where;  // it goes on there; absent: its process is gone
};

// It cannot be stopped now, or can be again.
struct StayingJob {
  core::JobId job;
  bool stays = true;
  // A plan had stopped or moved it, which was refused: it has run there all the while, since then.
  std::optional<core::Allocation> where = {};
  core::Seconds since = {};
};

// What happened up to `now`. Cleared and filled by the engine.
struct Observation {
  core::Seconds now;
  bool news = true;  // false: time has passed, and nothing has happened
  std::vector<core::Job> submitted;
  std::vector<core::JobId> finished, failed, out_of_memory;
  // Ended before their time, or their start was refused: back in the queue, work kept.
  std::vector<core::JobId> requeued;
  std::vector<core::JobId> profiled;  // ran alone for as long as its start asked
  std::vector<core::JobId> told;      // have told what their step is
  std::vector<Progress> progress;     // running jobs whose rate changed
  std::vector<PausedJob> paused;      // of those that wait, after all of the above
  std::vector<StayingJob> stays;      // after all of the above
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Waits until something happens, or until `wake`. False when nothing ever will: all is done.
  virtual bool Observe(std::optional<core::Seconds> wake, Observation& out) = 0;
  // REQUIRES: CheckPlan passed. Fills out.progress with what the plan changed. Never waits: what
  // takes time is told by a later Observe.
  virtual void Apply(const core::Plan& plan, Observation& out) = 0;
};

}  // namespace sharewell::engine
