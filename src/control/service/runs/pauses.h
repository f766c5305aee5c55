// Pauses: a job's process waits with its GPU memory on the host, and its GPUs are others'
// meanwhile. One that its user has paused is held until it is resumed; one that a plan has paused
// waits in the queue. Each is stored before it is done: a server that comes later goes on from
// there. The loop's thread.
#pragma once

#include <map>

#include "control/service/jobs/job_queue.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/journal.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/live/live_engine.h"
#include "engine/pauser.h"

namespace sharewell::control {

class Pauses {
 public:
  // All must outlive it; `monitor` may be null, and `pauser`: then nothing can be paused.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    JobQueue& queue;
    engine::LiveEngine& engine;
    engine::Pauser* pauser;
    JobMonitor* monitor;
    bool alone;         // the policy never puts two jobs on one GPU
    core::Seconds gap;  // between two pauses of a job, at least
  };
  explicit Pauses(const Parts& parts) : parts_(parts) {}

  // A job that runs is to be paused, and held then. An error: it cannot be, or not stored.
  core::Result<void> Begin(LiveJob& job, const core::Account& who);
  // Tells the engine what it has in GPU memory: before each pause.
  void SetGpuMemory(const LiveJob& job);
  // What a server that was killed has left of a paused job is taken out of `runs`. False: its
  // process is gone.
  bool FindAgain(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs);

  void Hear(const engine::RunPaused& event) { Follow(event); }
  void Hear(const engine::RunResumed& event) { Follow(event); }
  void Hear(const engine::PauseRefused& event) { Follow(event); }
  void Hear(const engine::ResumeRefused& event) { Follow(event); }

 private:
  core::Result<void> WhyNot(const LiveJob& job) const;  // an error: it cannot be paused
  template <class Event>
  void Follow(const Event& event) {
    LiveJob* job = parts_.state.live.FindRun(event.id);
    if (job == nullptr) return;
    Write(*job, event);
    parts_.journal.Touch(*job);
  }
  void Write(LiveJob& job, const engine::RunPaused& event);
  void Write(LiveJob& job, const engine::RunResumed& event);
  void Write(LiveJob& job, const engine::PauseRefused& event);
  void Write(LiveJob& job, const engine::ResumeRefused& event);

  const Parts parts_;
};

}  // namespace sharewell::control
