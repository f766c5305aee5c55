// Restorer: how a server comes to life. What the store knows is read, what still runs is found
// again, and each job goes on from where it was. The loop's thread, before the first turn;
// LookAgain between turns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/loop/loop.h"
#include "control/service/advisor.h"
#include "control/service/jobs/admission.h"
#include "control/service/jobs/foreign_intake.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/journal.h"
#include "control/service/runs/node_keeper.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/runs/pauses.h"
#include "control/service/service_state.h"
#include "control/service/view/published_view.h"
#include "core/job/job_record.h"
#include "core/result.h"
#include "engine/live/live_engine.h"
#include "engine/runner.h"
#include "store/job_store.h"

namespace sharewell::control {

class Restorer {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    store::JobStore& store;
    Journal& journal;
    PublishedView& view;
    Admission& admission;
    JobQueue& queue;
    NodeKeeper& nodes;
    Pauses& pauses;
    ForeignIntake& foreign;
    PaceWatch& paces;
    Loop& loop;
    engine::LiveEngine& engine;
    engine::Runner& runner;
    Advisor& advisor;
    std::function<std::string(std::uint32_t uid)> user_name;  // as ServiceOptions has it
  };
  explicit Restorer(const Parts& parts) : parts_(parts) {}

  core::Result<void> Restore();
  // At held jobs of which the store could not say whether they may start. False: it cannot yet.
  bool LookAgain();

 private:
  using Runs = std::map<engine::RunId, engine::RunRequest>;  // that were found, and nobody has yet

  // What users used of late: their stored sums, and what still runs since then.
  core::Result<void> RestoreUsage(const std::vector<core::JobRecord>& over,
                                  const std::vector<core::JobRecord>& live);
  void RestoreJobs(std::vector<core::JobRecord> records, Runs& runs);
  void RestoreOne(LiveJob& job, Runs& runs);
  void RestoreHeld(LiveJob& job);
  void RestoreRun(LiveJob& job, const engine::RunRequest& run);
  // Nothing of its last attempt is left.
  void RestoreLost(LiveJob& job);
  bool TrustAgain(LiveJob& job, const Runs& runs);

  const Parts parts_;
  std::vector<std::int64_t> look_again_;  // held jobs: see LookAgain
};

}  // namespace sharewell::control
