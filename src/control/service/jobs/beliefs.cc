#include "control/service/jobs/beliefs.h"

#include "estimate/seen_needs.h"

namespace sharewell::control {

core::Estimate Beliefs::Believe(const core::Job& job) const {
  // Held or cancelled before it was ever looked at: none.
  const LiveJob* found = parts_.state.live.Find(job.id);
  return parts_.advisor.EstimateOf(found == nullptr ? core::JobRecord{} : found->record);
}

core::Estimate Beliefs::Measured(const core::Job& job) {
  LiveJob* found = parts_.state.live.Find(job.id);
  if (found == nullptr) return parts_.advisor.EstimateOf({});
  if (parts_.monitor != nullptr) {
    core::JobRecord& record = found->record;
    record.believed = estimate::SeenNeeds(record.believed, parts_.monitor->Seen(record.number),
                                          record.cores, record.asked.gpus);
    parts_.journal.Touch(*found);
  }
  core::Estimate estimate = parts_.advisor.EstimateOf(found->record);
  parts_.paces.SetPace(*found, estimate, parts_.state.snapshot.job(job.id).allocation.gpus);
  return estimate;
}

}  // namespace sharewell::control
