// RunGate: how many jobs of one user, and of one array, may run at once, and on how many GPUs.
// Those above that are not shown to the loop: they wait here in order, and each says why. The
// loop's thread.
//
// Those that the loop has count, whether they run already or are among the next: the first of a
// user's jobs stand for all of them, so that nobody's queue is longer than what they may run. Who
// waits for GPUs is not overtaken by the user's later jobs that want fewer; those that want none
// pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/service/jobs/admission.h"
#include "control/service/jobs/live_jobs.h"
#include "core/job/job_record.h"

namespace sharewell::control {

// GPU hours of the last seven days, by user. Must not wait; none: nobody counts them.
using HoursOf = std::function<double(const std::string& user)>;

class RunGate {
 public:
  // `live` must outlive it.
  RunGate(LimitsOf of, const LiveJobs& live, HoursOf hours = {})
      : of_(std::move(of)), live_(live), hours_(std::move(hours)) {}

  // Why it has to wait, in words, and it is kept; or empty: it may go to the loop now.
  std::string Ask(const core::JobRecord& record);
  void Forget(std::int64_t number);  // it is over, or held; one that is not kept is no matter
  // Those that there is room for now, by priority and number; they are not kept any more.
  std::vector<std::int64_t> TakeNext();

 private:
  using Turn = std::pair<std::int64_t, std::int64_t>;  // least first: -priority, number
  using Line = std::set<Turn>;
  using Arrays = std::map<std::string, Line>;
  struct Place {
    std::string user, array;
    Turn at;
    int gpus = 0;
  };
  bool HasNoHours(const std::string& user, const core::Limits& limits) const;
  bool ArrayHasRoom(const std::string& user, const std::string& array, std::int64_t first) const;
  // Why it has to wait for GPUs; empty: it need not.
  std::string WaitsForGpus(const core::JobRecord& record, const core::Limits& limits,
                           const Turn& at) const;
  // Of the user's first `room`, those of which each array has room for.
  Line ReadyOf(const std::string& user, const Arrays& lines, std::int64_t room) const;

  const LimitsOf of_;
  const LiveJobs& live_;
  const HoursOf hours_;
  std::map<std::int64_t, Place> places_;  // by number
  std::map<std::string, Arrays> lines_;   // by user, then by array
  std::map<std::string, Line> for_gpus_;  // by user: of those, who wait for GPUs
};

}  // namespace sharewell::control
