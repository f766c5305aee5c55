#include "policy/policy.h"

#include <algorithm>
#include <tuple>

namespace sharewell::policy {

Policy::Turns Policy::InTurn(const core::Snapshot& snapshot) const {
  Turns turns;
  turns.jobs.assign(snapshot.waiting().begin(), snapshot.waiting().end());
  const auto rank = [&](core::JobId id) {
    const core::Job& job = snapshot.job(id).job;
    return std::tuple(-job.priority, job.submit.value, id);
  };
  std::sort(turns.jobs.begin(), turns.jobs.end(),
            [&](core::JobId a, core::JobId b) { return rank(a) < rank(b); });
  return turns;
}

}  // namespace sharewell::policy
