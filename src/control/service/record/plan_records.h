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
store::JobChanges RecordsOf(const core::Plan& plan, const core::Snapshot& snapshot,
                            const LiveJobs& live, const GpuTable& gpus, core::UnixMillis now);

}  // namespace sharewell::control
