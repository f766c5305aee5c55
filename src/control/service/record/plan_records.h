// What a plan makes of the records of its jobs, before it is applied. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "control/service/jobs/live_jobs.h"
#include "control/service/view/gpu_table.h"
#include "core/plan.h"
#include "core/snapshot.h"
#include "store/job_store.h"

namespace sharewell::control {

// Numbers of the jobs on these GPUs, rising, without `but`.
std::vector<std::int64_t> JobsOn(const std::vector<core::GpuId>& gpus, core::JobId but,
                                 const core::Snapshot& snapshot, const LiveJobs& live);

// Each job that the plan stops, moves, resizes, starts or gives up, with an event of its own.
// Events have no ids yet. `snapshot` is the one that was decided on.
// `managed`: they stand in the queue of a cluster's manager, so that one that could never run here
// is held, not failed: it is the manager's to refuse.
store::JobChanges RecordsOf(const core::Plan& plan, const core::Snapshot& snapshot,
                            const LiveJobs& live, const GpuTable& gpus, core::UnixMillis now,
                            bool managed);

}  // namespace sharewell::control
