// RunGate: how many jobs of one user, and of one array, may run at once. Those above that are not
// shown to the loop: they wait here in order, and each says why. The loop's thread.
//
// Those that the loop has count, whether they run already or are among the next: the first of a
// user's jobs stand for all of them, so that nobody's queue is longer than what they may run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/service/parts/admission.h"
#include "control/service/parts/live_jobs.h"
#include "core/job_record.h"

namespace sharewell::control {

class RunGate {
 public:
  // `live` must outlive it.
  RunGate(LimitsOf of, const LiveJobs& live) : of_(std::move(of)), live_(live) {}

  // Why it has to wait, in words, and it is kept; or empty: it may go to the loop now.
  std::string Ask(const core::JobRecord& record);
  void Forget(std::int64_t number);  // it is over, or held; one that is not kept is no matter
  // Those that there is room for now, by priority and number; they are not kept any more.
  std::vector<std::int64_t> TakeNext();

 private:
  using Line = std::set<std::pair<std::int64_t, std::int64_t>>;  // least first: -priority, number
  struct Place {
    std::string user, array;
    std::pair<std::int64_t, std::int64_t> at;
  };
  bool ArrayHasRoom(const std::string& user, const std::string& array, std::int64_t first) const;

  const LimitsOf of_;
  const LiveJobs& live_;
  std::map<std::int64_t, Place> places_;                      // by number
  std::map<std::string, std::map<std::string, Line>> lines_;  // by user, then by array
};

}  // namespace sharewell::control
