// Admission: who may come into the queue, who is held back, and who comes after whom. The loop's
// thread.
//
// A submission is admitted whole or not at all. Limits count every job that is not over: a user
// whose jobs wait cannot keep others out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/service/advisor.h"
#include "control/service/job_board.h"
#include "control/service/parts/live_jobs.h"
#include "core/job_record.h"
#include "core/result.h"
#include "store/job_store.h"

namespace sharewell::control {

struct AdmissionLimits {
  std::size_t most_waiting = 100'000;                      // jobs in the queue
  std::size_t most_waiting_of_one = 20'000;                // of one user
  std::size_t most_bytes_of_one = std::size_t{256} << 20;  // their commands and environments
};

class Admission {
 public:
  // All must outlive it. What is over is looked for on the board, then in the store.
  Admission(const AdmissionLimits& limits, const LiveJobs& live, Advisor& advisor,
            const JobBoard& board, store::JobStore& store);

  // The records of one submission, numbered from `first`, waiting or held; or why none of it is
  // admitted. Keeps nothing.
  core::Result<std::vector<core::JobRecord>> Admit(std::span<const core::Submission> jobs,
                                                   const core::Account& who, std::int64_t first,
                                                   core::UnixMillis now) const;

  // Why it is held, in words; empty: it is not.
  std::string WhyHeld(const core::JobRecord& record) const;
  // One of those below `first` that it comes after, is over and did not finish well.
  std::optional<std::int64_t> FailedBefore(const core::JobRecord& record, std::int64_t first) const;

  // A held job is remembered with the live ones it comes after.
  void AddDependent(const core::JobRecord& record);
  // It is over: nobody has to look at it again.
  void RemoveDependent(const core::JobRecord& record);
  // Those that come after a job that is over now; each is to be looked at again.
  std::vector<std::int64_t> TakeDependents(std::int64_t number);

 private:
  core::Result<void> KeepsToLimits(std::span<const core::Submission> jobs,
                                   const core::Account& who) const;

  const AdmissionLimits limits_;
  const LiveJobs& live_;
  Advisor& advisor_;
  const JobBoard& board_;
  store::JobStore& store_;
  std::set<std::pair<std::int64_t, std::int64_t>> dependents_;  // held jobs, after who they come
};

}  // namespace sharewell::control
