// Outbox: what is owed to the store, to readers and to listeners. The loop's thread.
//
// What happened is owed until it is stored: records that changed, events, pairs that were measured,
// and runs whose remains may go once their end is durable. What is asked for or decided is handed
// to Commit before it is done, and not done where Commit fails.
//
// A store that fails may have stored what it was given all the same: its answer was lost. So what
// was to be written and is not done is written over with what is true, as soon as that can be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/service/jobs/job_board.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/view/event_hub.h"
#include "core/result.h"
#include "engine/runner.h"
#include "store/job_store.h"

namespace sharewell::control {

class Outbox {
 public:
  using Log = std::function<void(const std::string&)>;

  // All must outlive it. `say`, where set, hears once when nothing can be stored, and once when it
  // can again.
  Outbox(store::JobStore& store, LiveJobs& live, JobBoard& board, EventHub& hub, Log log);
  void ContinueAfter(std::int64_t last_event) { next_event_ = last_event + 1; }

  // Its record has changed: readers see that at once.
  void Touch(const LiveJob& job);
  void AddEvent(core::UnixMillis at, std::string kind, std::int64_t job, std::string text);
  void AddShared(core::SharedRun run);
  void AddKept(const std::string& name, std::string value);
  // In the place of what is owed of the same job.
  void AddSpeed(std::int64_t number, core::SpeedHistory history);
  void AddEnded(engine::RunId run);

  struct Stored {
    std::vector<std::pair<std::int64_t, core::Phase>> over;  // live jobs whose end is stored now
    std::vector<engine::RunId> ended;                        // may be forgotten now
    // Numbers that are taken: of jobs whose submission failed, though the store has it.
    std::vector<std::int64_t> withdrawn;
  };
  // Writes what is owed, and `changes` after it. Events are numbered here: ids in `changes` are not
  // looked at. Then the records of `changes` stand in the live jobs and on the board, and events
  // have been published. On failure nothing has changed: what was owed stays owed. After a failure
  // the store is tried even where nothing is owed, so that problem() is true.
  core::Result<Stored> Commit(store::JobChanges changes = {});

  // Looks whether the store is well, also when there is nothing to write. False: that store cannot
  // tell, and only writing does.
  bool LookAtStore();

  bool owes_records() const { return !dirty_.empty(); }
  // How much waits to be stored, speeds aside. Bounded by the live jobs, and by kMostEvents and
  // kMostShared: where nothing can be stored for long the oldest events and pairs go, never an end
  // of a job.
  std::size_t owed() const;
  static constexpr std::size_t kMostEvents = 10'000, kMostShared = 1'000;
  const std::string& problem() const {
    return problem_;
  }  // empty: the store takes what it is given

 private:
  core::Result<void> Write(const store::JobChanges& all);
  void SetProblem(const std::string& problem);
  // The records that are owed, but for those that `changes` has anew.
  std::vector<core::JobRecord> OwedRecords(const store::JobChanges& changes) const;
  // Of those whose submission failed: what the store has, as cancelled.
  core::Result<std::vector<core::JobRecord>> Withdrawn(const store::JobChanges& changes);
  // What a failed write may have stored under the next ids must not stay there.
  void CoverFailed(std::vector<core::Event>& events) const;
  void DropOldEvents();

  store::JobStore& store_;
  LiveJobs& live_;
  JobBoard& board_;
  EventHub& hub_;
  const Log log_;
  std::int64_t next_event_ = 1;
  store::JobChanges owed_;
  std::map<std::int64_t, core::SpeedHistory> speeds_;
  std::set<std::int64_t> dirty_;    // numbers
  std::int64_t failed_ = 0;         // the last event id that a failed write had
  core::UnixMillis failed_at_ = 0;  // when
  std::set<std::int64_t> unsure_;   // numbers that a write had which failed
  std::size_t dropped_ = 0;         // events
  std::vector<engine::RunId> ended_;
  std::string problem_;
};

}  // namespace sharewell::control
