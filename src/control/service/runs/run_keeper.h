// RunKeeper: what became of runs: that they began, what was refused or noted, and how they ended.
// It is written into their jobs' records, and what it means for the queue is done. The loop's
// thread.
#pragma once

#include <functional>
#include <string>

#include "control/loop/loop.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/journal.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/runs/told_steps.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

class RunKeeper {
 public:
  // All must outlive it; `monitor` and `reader` may be null.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    JobQueue& queue;
    PaceWatch& paces;
    Loop& loop;
    engine::LiveEngine& engine;
    Advisor& advisor;
    JobMonitor* monitor;
    ToldReader* reader;
    std::function<void(std::function<void()>)> later;  // on the loop's thread; from any
  };
  explicit RunKeeper(const Parts& parts);

  void Hear(const engine::RunStarted& event);
  void Hear(const engine::TimeLimitReached& event);
  void Hear(const engine::StopRefused& event);
  void Hear(const engine::RunNote& event);
  void Hear(const engine::RunTold& event) { told_.Hear(event); }
  void TakeEnd(const engine::Ended& end);

 private:
  void TakeCores(LiveJob& job, const engine::RunStarted& started);
  void CountInWeek(const core::JobRecord& record, core::Seconds ran);
  // What its user used so far, for the next server.
  void KeepUsage(const std::string& user);
  void EmitEnd(const engine::Ended& end, const core::JobRecord& record);

  const Parts parts_;
  ToldSteps told_;
};

}  // namespace sharewell::control
