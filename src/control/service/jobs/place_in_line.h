// PlaceInLine: who goes before a waiting job, as the policy has them in line. Kept from one
// question to the next: with thousands of jobs the line takes milliseconds. The loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/service/jobs/live_jobs.h"
#include "core/snapshot.h"
#include "policy/policy.h"

namespace sharewell::control {

struct JobsAhead {
  enum class Why : std::uint8_t { kPriority, kProject, kUsedLess, kOrder };
  struct Group {
    std::string user;
    Why why = Why::kOrder;
    std::size_t jobs = 0;
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::size_t jobs = 0;
  std::vector<Group> groups;  // by user and cause, those with most jobs first
  friend bool operator==(const JobsAhead&, const JobsAhead&) = default;
};
std::string_view NameOf(JobsAhead::Why why);  // "higher priority", ...
// "12 jobs go before it: 9 of alice (used less so far), 3 of root (higher priority)"
std::string InWords(const JobsAhead& ahead);

class PlaceInLine {
 public:
  // Absent: it is not in line. `decided`: how many decisions were made.
  std::optional<JobsAhead> AheadOf(core::JobId id, const policy::Policy& policy,
                                   const core::Snapshot& snapshot, const LiveJobs& live,
                                   std::int64_t decided);
  void Forget() { line_.clear(); }  // ids were given anew

 private:
  struct Place {
    core::JobId id;
    core::UserId user;
    int priority = 0;
    bool has_share = false;  // its project
  };
  void Read(const policy::Policy& policy, const core::Snapshot& snapshot, std::int64_t decided);
  std::vector<Place>::const_iterator Find(core::JobId id) const;

  std::vector<Place> line_;
  std::map<core::UserId, double> used_;
  bool by_user_ = false;
  std::int64_t decided_ = -1;
  core::Seconds read_;
};

}  // namespace sharewell::control
