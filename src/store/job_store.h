// JobStore: the jobs of a server, what happened to them, and what was learnt from them sharing.
// Lies in the same file or database as the samples (store.h), on a connection of its own.
//
// One thread uses one object; several objects may have one store open, one of them as the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/job_record.h"
#include "core/job/speed_history.h"
#include "core/result.h"

namespace sharewell::store {

struct JobFilter {
  std::optional<std::int64_t> number = {};
  std::optional<std::string> user = {};
  std::vector<core::Phase> phases = {};      // empty: any
  std::optional<std::string> workload = {};  // core::WorkloadKey
  // Leaves those out that ended before; live ones stay.
  std::optional<core::UnixMillis> ended_since = {};
  std::optional<std::int64_t> below = {};  // numbers below this one: the next page
  std::size_t most = 1000;                 // newest first
  // So many bytes of records at most, and always one; older ones are left out.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
};

// All of it or nothing.
struct JobChanges {
  std::vector<core::JobRecord> jobs;    // whole records; one with the same number is replaced
  std::vector<core::Event> events;      // REQUIRES: ids above LastEvent()
  std::vector<core::SharedRun> shared;  // added
  std::vector<std::pair<std::string, std::string>> kept;  // small facts of the server, by name
  // For what must always be stored: ends, cancels. On a full disk it may take the room that a
  // server keeps for that; what may not is refused until that room is whole again.
  bool may_use_reserve = false;
  // By job; in the place of what was stored of it.
  std::vector<std::pair<std::int64_t, core::SpeedHistory>> speeds = {};
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  // Durable when it returns success.
  virtual core::Result<void> Write(const JobChanges& changes) = 0;
  // Newest first.
  virtual core::Result<std::vector<core::JobRecord>> Jobs(const JobFilter& filter) = 0;
  // How those of them that are there stand now; no record is read for it.
  virtual core::Result<std::map<std::int64_t, core::Phase>> PhasesOf(
      const std::vector<std::int64_t>& numbers) = 0;
  virtual core::Result<std::int64_t> LastNumber() = 0;  // 0: none yet
  virtual core::Result<std::int64_t> LastEvent() = 0;
  // Those above `after`, rising, at most `most`.
  virtual core::Result<std::vector<core::Event>> Events(std::int64_t after, std::size_t most) = 0;
  virtual core::Result<std::vector<core::SharedRun>> SharedRuns() = 0;
  // Of the job of that number. Absent: none is stored, or it is damaged. It goes with its job.
  virtual core::Result<std::optional<core::SpeedHistory>> SpeedOf(std::int64_t /*number*/) {
    return std::nullopt;
  }
  virtual core::Result<std::optional<std::string>> Kept(const std::string& name) = 0;
  // All facts whose name begins so, by what follows in their names.
  virtual core::Result<std::map<std::string, std::string>> KeptUnder(
      const std::string& /*prefix*/) {
    return std::map<std::string, std::string>();
  }
  // Drops what that user's jobs taught by sharing.
  virtual core::Result<void> RemoveShared(const std::string& /*user*/) { return {}; }
  // Drops events but the last `keep_events`, and jobs that ended before `ended_before`; a few
  // thousand of each at most: the rest is for the next call. Of shared runs 10,000 stay: the users
  // with most lose their oldest.
  virtual core::Result<void> TidyJobs(core::UnixMillis ended_before, std::int64_t keep_events) = 0;
  // From now on this object's owner is the one server of the store, until it goes, however it goes.
  // Fails and names the other one (its process and since when) while there is one.
  virtual core::Result<void> BecomeServer() = 0;
  // Whether new work could be stored now, found out without writing any: the file is still there
  // and its disk has room. Absent: only writing tells (a database elsewhere, or not the server).
  virtual std::optional<core::Result<void>> Health() { return std::nullopt; }
  // Which store this is: 16 hexadecimal digits, made at random with it and never changed. A copy
  // has the same id. Empty: a store that is kept nowhere (tests).
  virtual std::string Id() const { return {}; }
};

// `where` as store::Open has it. With a key, records are sealed when they are written, and those
// whose seal is missing or wrong are `untrusted` when they are read.
core::Result<std::unique_ptr<JobStore>> OpenJobs(const std::string& where,
                                                 const std::string& key = "");

// As the API and the store write it: one JSON object. Reading says which key is wrong.
std::string JobToJson(const core::JobRecord& record);
core::Result<core::JobRecord> JobFromJson(std::string_view text);
std::string SubmissionToJson(const core::Submission& submission);
core::Result<core::Submission> SubmissionFromJson(std::string_view text);

}  // namespace sharewell::store
