// LiveJobs: the jobs that are not over: their records, the ids that the snapshot knows them by, and
// how much each user has here. The loop's thread.
//
// A job's number is for ever. Its id in the snapshot is given when it is queued, and another one
// when it is queued anew after it was held. Ids are given anew when most of them are of jobs that
// are over (Renumber).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/job/job_record.h"
#include "core/plan.h"
#include "core/renumbering.h"
#include "engine/runner.h"

namespace sharewell::control {

struct LiveJob {
  core::JobRecord record;
  int unmade = 0;             // the last attempt that was decided on and never made; 0: none
  core::JobId id;             // in the snapshot; not valid: held, or not queued yet
  bool alone = true;          // nobody shared with it in this attempt
  bool always_alone = true;   // nor in any other
  core::Seconds rate_stored;  // record.alone as the store has it: over so many seconds
  bool adopted = false;       // it ran before this server did: what went before was not seen
  // It is not what the queue has it for (its terms, or GPUs that are not here any more): when it
  // comes back there, it comes as another one.
  bool queue_anew = false;
  bool noted_alone = false;           // its note says why it starts alone (GpuBreakers)
  bool noted_refused = false;         // its note says why its last start was refused
  bool withdrawn = false;             // its manager, or somebody there, has taken it away
  std::optional<core::Reason> waits;  // why, as the policy said last
  core::Seconds limit_told;           // of record.limit_extended, what the runner knows
  engine::StartTerms terms = {};      // of its manager

  int attempts() const { return std::max(record.attempt, unmade); }  // that have a number
};

class LiveJobs {
 public:
  // Of one user.
  struct Share {
    std::size_t jobs = 0;
    std::size_t bytes = 0;   // of their commands and environments
    std::size_t queued = 0;  // of the jobs, those that the loop has: they run, or are next
    std::int64_t gpus = 0;   // of these
  };

  LiveJob& Add(core::JobRecord record);  // REQUIRES: there is none of that number
  void Remove(std::int64_t number);      // REQUIRES: it is there

  // Null: there is none. Pointers stay valid until the job is removed.
  LiveJob* Find(std::int64_t number);
  const LiveJob* Find(std::int64_t number) const;
  // Null: nobody has that id, or not any more.
  LiveJob* Find(core::JobId id);
  const LiveJob* Find(core::JobId id) const;
  LiveJob* FindRun(engine::RunId id);  // null: that is not its attempt now
  std::size_t size() const { return jobs_.size(); }
  Share ShareOf(const std::string& user) const;
  // Of one array that core::LimitedArrayOf names: how many the loop has.
  std::size_t QueuedOf(const std::string& user, const std::string& array) const;
  std::string NameOf(core::JobId id) const;  // "job 7"; empty: there is none

  // The snapshot's next id: it must be submitted there before another one is given.
  core::JobId GiveId(LiveJob& job);
  core::JobId TakeId(LiveJob& job);  // the loop has it no more; what it had
  core::JobId GiveIdToNobody();      // for what keeps a GPU from being used
  core::UserId UserIdOf(const std::string& name);
  const std::string& NameOfUser(core::UserId id) const;  // REQUIRES: UserIdOf gave it
  std::size_t ids_given() const { return number_of_.size(); }
  // Whose id is in use here stays.
  void MarkStaying(std::vector<bool>& stays) const;
  // REQUIRES: ids.before() == ids_given(), and all that MarkStaying marks stay.
  void Renumber(const core::Renumbering& ids);

 private:
  void Count(const core::JobRecord& record, bool queued);

  std::map<std::int64_t, LiveJob> jobs_;
  std::vector<std::int64_t> number_of_;  // by JobId; 0: nobody
  std::map<std::string, Share> shares_;
  std::map<std::pair<std::string, std::string>, std::size_t> arrays_;  // queued, by user and array
  std::map<std::string, core::UserId> users_;
  std::vector<std::string> user_names_;  // by UserId
};

}  // namespace sharewell::control
