// Admission: who may come into the queue, who is held back, and who comes after whom. The loop's
// thread.
//
// A submission is admitted whole or not at all. Limits count every job that is not over: a user
// whose jobs wait cannot keep others out. Every refusal names the limit as sharewell.toml does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/service/advisor.h"
#include "control/service/jobs/job_board.h"
#include "control/service/jobs/live_jobs.h"
#include "core/job/job_record.h"
#include "core/job/limits.h"
#include "core/projects.h"
#include "core/result.h"
#include "store/job_store.h"

namespace sharewell::control {

// Of one account. Must not wait.
using LimitsOf = std::function<core::Limits(const core::Account& who)>;
core::Limits UsualLimits(const core::Account& who);  // without a sharewell.toml

struct AdmissionLimits {
  std::size_t most_waiting = 100'000;  // jobs in the queue, of all users
  LimitsOf of = UsualLimits;
  core::Projects projects = {};  // empty: there are none
  // Jobs come from a cluster's manager: the project is the one named as their account there, else
  // the first of their user's, and a job's time is between it and them. A Service sets it.
  bool of_a_manager = false;
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

  // What holds it: its user's wish, or a job that it comes after. Absent: nothing does.
  std::optional<core::Hold> HoldOf(const core::JobRecord& record) const;
  // One of those below `first` that it comes after, is over and did not finish well. Fails where
  // the store cannot be read: then nobody knows.
  core::Result<std::optional<std::int64_t>> FailedBefore(const core::JobRecord& record,
                                                         std::int64_t first) const;

  // A held job is remembered with the live ones it comes after.
  void AddDependent(const core::JobRecord& record);
  // It is over: nobody has to look at it again.
  void RemoveDependent(const core::JobRecord& record);
  // Those that come after a job that is over now; each is to be looked at again.
  std::vector<std::int64_t> TakeDependents(std::int64_t number);

 private:
  using Verdicts = std::map<std::int64_t, bool>;  // may a job come after this one?

  // Those from `first` on are of the same submission, and not live yet.
  std::optional<core::Hold> HoldOf(const core::JobRecord& record, std::int64_t first) const;
  core::Result<void> IsOfItsProject(const core::Submission& job, const core::Account& who) const;
  core::Result<void> KeepsToLimits(std::span<const core::Submission> jobs,
                                   const core::Account& who) const;
  core::Result<std::optional<std::int64_t>> FailedBefore(const core::JobRecord& record,
                                                         std::int64_t first, Verdicts& known) const;
  core::Result<bool> MayComeAfter(std::int64_t number) const;

  const AdmissionLimits limits_;
  const LiveJobs& live_;
  Advisor& advisor_;
  const JobBoard& board_;
  store::JobStore& store_;
  std::set<std::pair<std::int64_t, std::int64_t>> dependents_;  // held jobs, after who they come
};

}  // namespace sharewell::control
