// JobActions: what users ask of a job that is in the queue or runs: cancel, hold, release, pause,
// resume. Whether they may, and then each is stored before it is done. The loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "control/service/job_service.h"
#include "control/service/jobs/admission.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/journal.h"
#include "control/service/runs/pauses.h"
#include "control/service/service_state.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

class JobActions {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    const Admission& admission;
    JobQueue& queue;
    Pauses& pauses;
    engine::LiveEngine& engine;
    std::function<std::string(std::uint32_t uid)> user_name;  // as ServiceOptions has it
  };
  explicit JobActions(const Parts& parts) : parts_(parts) {}

  core::Result<void> Act(Action action, std::int64_t number, const core::Account& who);

 private:
  // That `who` may ask for it.
  core::Result<void> May(Action action, const LiveJob& job, const core::Account& who) const;
  core::Result<void> Cancel(const LiveJob& job, const core::Account& who);
  core::Result<void> Hold(LiveJob& job);
  core::Result<void> Release(LiveJob& job);
  core::Result<void> Pause(LiveJob& job, const core::Account& who);
  core::Result<void> Resume(LiveJob& job);

  const Parts parts_;
};

}  // namespace sharewell::control
