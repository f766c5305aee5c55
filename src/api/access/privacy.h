// Privacy: what a server shows of users' jobs to other users. Where a cluster hides them (Slurm's
// PrivateData), a user sees jobs of their own alone; admins and the cluster's operators see all.
// Whoever is nobody in particular sees none. Plain data; any thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/access/refusal.h"
#include "core/job/job_record.h"
#include "core/job/submission.h"

namespace sharewell::api {

struct Privacy {
  using Who = std::optional<core::Account>;

  bool jobs = false;                // jobs of others are hidden
  bool usage = false;               // what others have used is hidden
  std::string setting;              // "PrivateData=jobs", for messages
  std::set<std::string> operators;  // see all, by their names

  bool SeesAllJobs(const Who& who) const { return !jobs || IsOperator(who); }
  bool Sees(const Who& who, const core::JobRecord& job) const {
    return SeesAllJobs(who) || (who && who->uid == core::OwnerUid(job));
  }
  bool SeesAllUsage(const Who& who) const { return !(jobs || usage) || IsOperator(who); }
  // In answer to a question about the jobs, or the use, of all.
  Refusal ForOperators(const Who& who) const;

 private:
  bool IsOperator(const Who& who) const {
    return who && (who->admin || operators.contains(who->name));
  }
};

}  // namespace sharewell::api
