// WaitingRoom: jobs on their way into the loop's queue. They are let in with the next turn; whom
// the limits of RunGate keep back waits here in order. The loop's thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "control/service/jobs/admission.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/runs/run_gate.h"
#include "core/job/job_record.h"

namespace sharewell::control {

class WaitingRoom {
 public:
  // `live` must outlive it.
  WaitingRoom(LimitsOf of, const LiveJobs& live, HoursOf hours = {})
      : gate_(std::move(of), live, std::move(hours)) {}

  void Enter(std::int64_t number) { entered_.push_back(number); }
  void Leave(std::int64_t number);  // one that is not here is no matter
  // All who are to be asked about now, and are not here any more: who waited for their turn goes
  // before who comes now. A number may come twice.
  std::vector<std::int64_t> TakeNext();
  // Why it has to wait, in words, and it is here again; or empty: it may go to the loop now.
  std::string Ask(const core::JobRecord& record) { return gate_.Ask(record); }

 private:
  RunGate gate_;
  std::vector<std::int64_t> entered_;
};

}  // namespace sharewell::control
