// Scenario: a trace on a cluster, with what was measured, made into a world that can be run: jobs
// with ids, their truth on each of the cluster's GPU models, and the interference between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "catalogue/workload_mix.h"
#include "core/cluster.h"
#include "core/job/job.h"
#include "core/job/profile.h"
#include "core/projects.h"
#include "core/result.h"
#include "interference/interference.h"
#include "sim/truth.h"
#include "trace/trace_job.h"

namespace sharewell::simulation {

// What the trace says of what its jobs with GPUs train.
struct WorkloadsTold {
  std::size_t jobs = 0;     // with GPUs
  std::size_t named = 0;    // that name a workload
  std::size_t busy = 0;     // of which it tells no more than how busy they keep a GPU
  std::size_t assumed = 0;  // of which it tells neither
  std::string as;           // what those were taken to be, a phrase

  friend bool operator==(const WorkloadsTold&, const WorkloadsTold&) = default;
};
// "12 of 300 jobs name their workload; 288 are assumed: ..."; empty: there are no such jobs.
std::string InWords(const WorkloadsTold& told);

struct Scenario {
  core::Cluster cluster;
  std::vector<core::Job> jobs;      // by submission, ids 0, 1, ...
  std::vector<sim::TrueJob> truth;  // alongside
  // What each really waited, alongside; absent where the trace does not tell.
  std::vector<std::optional<core::Seconds>> waited;
  interference::Interference interference;
  std::vector<core::Workload> workloads;  // by WorkloadId
  std::vector<std::string> users;         // by UserId
  WorkloadsTold told;
  std::vector<std::string> remarks;  // what else was assumed, one sentence each
  core::Projects projects = {};      // by ProjectId; empty: none count
};

struct ScenarioOptions {
  double work_scale = 1;
  std::uint64_t seed = 1;           // draws workloads for jobs that name none
  catalogue::WorkloadMix mix = {};  // from these
};

// Durations are taken as time alone on the cluster's first GPU model. Errors name the trace and
// job.
core::Result<Scenario> BuildScenario(const trace::Trace& trace, const std::string& trace_name,
                                     core::Cluster cluster, const core::Measurements& measurements,
                                     const catalogue::GpuCatalogue& catalogue,
                                     const ScenarioOptions& options);

// Its users' jobs count to these projects; of a user who is in several, to the first one.
void CountToProjects(core::Projects projects, Scenario& scenario);

}  // namespace sharewell::simulation
