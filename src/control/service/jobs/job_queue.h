// JobQueue: into the loop's queue and out of it. The loop's thread.
//
// Who enters goes to the loop with the next turn, as its record, its manager's terms and the limits
// of its user have it then. Who is over is closed: those that come after it are let go, or
// cancelled where it did not finish well.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/service/advisor.h"
#include "control/service/jobs/admission.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/jobs/place_in_line.h"
#include "control/service/jobs/waiting_room.h"
#include "control/service/record/journal.h"
#include "control/service/service_state.h"
#include "core/job/job.h"
#include "core/job/job_record.h"
#include "core/projects.h"
#include "engine/foreign_queue.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

// What its next attempt is made of: who and what, as stored.
engine::RunRequest RequestOf(const core::JobRecord& record);

class JobQueue {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    Admission& admission;
    Advisor& advisor;
    engine::LiveEngine& engine;
    engine::ForeignQueue* manager;  // null: jobs are submitted here alone
    LimitsOf limits;
    // Jobs of that user never start as guests. Must not wait; none: they may.
    std::function<bool(const core::Account& who)> alone_until_known = {};
    core::Projects projects = {};  // empty: there are none
  };
  explicit JobQueue(const Parts& parts);

  // With the next turn. Ids are given then: a reservation may come before.
  void Enqueue(std::int64_t number) { room_.Enter(number); }
  // One that was admitted earlier, perhaps by another machine; where it does not fit it is held.
  void EnqueueIfItFits(LiveJob& job);
  // It is not to start now, wherever on its way it is. It may come back.
  void TakeOut(LiveJob& job);
  // A plan says that they can never run here, and each is held: the loop drops them.
  void ForgetInfeasible(const std::vector<core::JobId>& jobs);
  // How those of its kind that wait are to be started has changed: they are queued anew.
  void QueueKindAnew(const core::JobRecord& kind);
  // Whether any went to the loop, so that a turn comes for it.
  bool SubmitEnqueued();
  // Whose user has used up the GPU hours of a week waits outside of the loop again. When to look
  // once more; absent: nobody here has such a limit.
  std::optional<core::Seconds> KeepToHours();
  // What was held because no machine was large enough is tried again.
  void TryHeldAgain();
  // Its end is stored. REQUIRES: it is live; it is not from here on.
  void Close(std::int64_t number, core::Phase how);

  // Who goes before it in line; absent: it is not in line. `decided`: how many decisions were made.
  std::optional<JobsAhead> AheadOf(std::int64_t number, std::int64_t decided);
  void OnNewIds() { line_.Forget(); }

  // As the loop's queue has it, with the snapshot's next id: it must be submitted or seated there
  // before another one is given.
  core::Job NextJob(LiveJob& job);

 private:
  double HoursUsed(const std::string& user);
  void NoteAlone(LiveJob& job);
  void PutTerms(const engine::StartTerms& terms, core::Job& to) const;
  void ReleaseDependents(std::int64_t number, core::Phase how);

  const Parts parts_;
  WaitingRoom room_;
  PlaceInLine line_;
  std::map<std::string, std::pair<core::Seconds, double>> hours_;  // as counted then
  std::optional<core::Seconds> looked_;                            // at them, for KeepToHours
  bool limited_ = false;  // some user is, of those who had jobs then
};

}  // namespace sharewell::control
