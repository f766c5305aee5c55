// Scenario: a trace on a cluster, with what was measured, made into a world that can be run: jobs
// with ids, their truth on each of the cluster's GPU models, and the interference between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/profile.h"
#include "core/result.h"
#include "interference/interference.h"
#include "sim/truth.h"
#include "trace/trace_job.h"

namespace sharewell::study {

struct Scenario {
  core::Cluster cluster;
  std::vector<core::Job> jobs;      // by submission, ids 0, 1, ...
  std::vector<sim::TrueJob> truth;  // alongside
  // What each really waited, alongside; absent where the trace does not tell.
  std::vector<std::optional<core::Seconds>> waited;
  interference::Interference interference;
  std::vector<core::Workload> workloads;  // by WorkloadId
  std::vector<std::string> users;         // by UserId
  std::vector<std::string> remarks;       // what was assumed, one sentence each
};

struct ScenarioOptions {
  double work_scale = 1;
  std::uint64_t seed = 1;  // draws workloads for jobs that name none
};

// Durations are taken as time alone on the cluster's first GPU model. Errors name the trace and
// job.
core::Result<Scenario> BuildScenario(const trace::Trace& trace, const std::string& trace_name,
                                     core::Cluster cluster, const core::Measurements& measurements,
                                     const catalogue::GpuCatalogue& catalogue,
                                     const ScenarioOptions& options);

}  // namespace sharewell::study
