// RunKeeper: what became of runs: that they began, what was refused or noted, and how they ended.
// It is written into their jobs' records, and what it means for the queue is done. The loop's
// thread.
#pragma once

#include <string>

#include "control/loop/loop.h"
#include "control/service/job_queue.h"
#include "control/service/journal.h"
#include "control/service/pace_watch.h"
#include "control/service/parts/live_jobs.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

class RunKeeper {
 public:
  // All must outlive it; `monitor` may be null.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    JobQueue& queue;
    PaceWatch& paces;
    Loop& loop;
    engine::LiveEngine& engine;
    JobMonitor* monitor;
  };
  explicit RunKeeper(const Parts& parts) : parts_(parts) {}

  void Hear(const engine::RunStarted& event);
  void Hear(const engine::TimeLimitReached& event);
  void Hear(const engine::StopRefused& event);
  void Hear(const engine::RunNote& event);
  void TakeEnd(const engine::Ended& end);

 private:
  void TakeCores(LiveJob& job, const engine::RunStarted& started);
  // What its user used so far, for the next server.
  void KeepUsage(const std::string& user);
  void SayEnd(const engine::Ended& end, const core::JobRecord& record);

  const Parts parts_;
};

}  // namespace sharewell::control
