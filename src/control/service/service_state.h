// ServiceState: what is so now. The machines, who runs where, the jobs, and what readers see of
// them: data that nearly every part of the service reads, and many change. The loop's thread, but
// for the board and the week.
#pragma once

#include <utility>
#include <vector>

#include "control/service/jobs/job_board.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/jobs/week_use.h"
#include "control/service/runs/gpu_breakers.h"
#include "control/service/view/gpu_table.h"
#include "core/cluster.h"
#include "core/snapshot.h"

namespace sharewell::control {

struct ServiceState {
  // `all` must outlive it. `views` by GpuId.
  ServiceState(core::Cluster& all, std::vector<GpuView> views)
      : cluster(all), snapshot(all), gpus(std::move(views)) {}

  core::Cluster& cluster;  // it grows
  core::Snapshot snapshot;
  GpuTable gpus;
  LiveJobs live;
  GpuBreakers breakers;
  JobBoard board;
  WeekUse week;
};

}  // namespace sharewell::control
