// Journal: what happened is said and owed to the store; what is asked for or decided is stored
// before it is done; and each of it has the time of day. The loop's thread.
//
// A job whose end is stored is closed: whoever said so with OnOver takes it out of the queue and
// lets those go that come after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "control/sampling/sampler.h"
#include "control/service/jobs/job_tally.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/outbox.h"
#include "control/service/service_state.h"
#include "control/service/view/event_hub.h"
#include "control/service/view/wall_time.h"
#include "core/result.h"
#include "engine/runner.h"
#include "store/job_store.h"

namespace sharewell::control {

class Journal {
 public:
  // All must outlive it. `log`, where set, hears what whoever runs the server has to know.
  Journal(ServiceState& state, store::JobStore& store, engine::Runner& runner, Clock& clock,
          std::function<void(const std::string&)> log);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  // Of each job whose end is stored: it is still live, and is to be removed. Before the first
  // Commit.
  void OnOver(std::function<void(std::int64_t number, core::Phase how)> closes);

  core::UnixMillis LookAtClocks();  // once a turn, or oftener; what the wall clock says
  core::Seconds Now() const { return runner_.Now(); }  // by the runner's clock
  core::UnixMillis Wall() const { return wall_.At(runner_.Now()); }

  // An event; `job` 0: of no job.
  void Emit(const std::string& kind, std::int64_t job, std::string text);
  void EmitAndLog(const std::string& kind, std::int64_t job, std::string text);  // in the log too
  void Log(const std::string& text) const;
  void Touch(const LiveJob& job) { outbox_.Touch(job); }  // its record has changed

  // Stores what is owed, and `changes` after it. On failure nothing has changed.
  core::Result<void> Commit(store::JobChanges changes = {});
  // What is over may let others go, whose change is to be stored in its turn. What cannot be stored
  // stays owed.
  core::Result<void> CommitAll();

  // The number of the next job.
  std::int64_t next_number() const { return next_number_; }
  void NumberIsTaken(std::int64_t number) { next_number_ = std::max(next_number_, number + 1); }

  WallTime& wall() { return wall_; }
  JobTally& tally() { return tally_; }
  Outbox& outbox() { return outbox_; }
  EventHub& hub() { return hub_; }

 private:
  engine::Runner& runner_;
  Clock& clock_;
  const std::function<void(const std::string&)> log_;
  std::function<void(std::int64_t, core::Phase)> closes_ = {};
  EventHub hub_;
  Outbox outbox_;
  WallTime wall_;
  JobTally tally_;
  std::int64_t next_number_ = 1;
};

}  // namespace sharewell::control
