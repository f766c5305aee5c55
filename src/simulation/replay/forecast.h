// Forecast: when the jobs that wait will start, found by playing the queue forward from now in the
// simulator (starts/tell_starts.h): what runs goes on to its believed end, and the policy decides
// as it will.
//
// A job of unknown length is taken never to end: what has to wait for it has no time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"
#include "core/projects.h"
#include "core/result.h"
#include "policy/options.h"
#include "simulation/replay/job_history.h"

namespace sharewell::simulation {

struct ForecastOptions {
  core::UnixMillis now = 0;
  std::string policy = "sharewell";
  core::Ratio max_slowdown = 1.25;                           // the server's
  double match_patience = policy::Options().match_patience;  // likewise
  std::size_t most_jobs = 1'000;  // of the queue, from its front; those behind have no time
  // By user: GPU seconds as the fair share counts them now. Who is not here has what its jobs that
  // run have used.
  std::map<std::string, double> usage = {};
  core::Projects projects = {};  // the server's; empty: there are none
  // Asked again and again; once it is false, those that were not seen to start have no time.
  std::function<bool()> go_on = {};
};

struct ExpectedStart {
  std::int64_t number = 0;
  std::optional<core::UnixMillis> start;
  std::vector<core::GivenGpu> gpus;  // where, as far as can be told today
  std::string why;                   // the policy's own reason, in words

  friend bool operator==(const ExpectedStart&, const ExpectedStart&) = default;
};

struct ForecastResult {
  std::vector<ExpectedStart> jobs;          // the waiting ones, by number
  std::optional<ExpectedStart> considered;  // where one was
  std::vector<std::string> remarks;
};

// `live`: all that are not over, in any order; those that run have their GPUs. `gpus` by GpuId;
// `closed`: drained, or gone. `considered`: a job that is not there yet; it is put behind all
// others, its number and time of submission do not matter. An unknown policy is a usage error.
core::Result<ForecastResult> Forecast(JobRecords live, const core::Cluster& cluster,
                                      std::span<const core::GivenGpu> gpus,
                                      std::span<const core::GpuId> closed,
                                      std::span<const core::SharedRun> shared,
                                      const core::JobRecord* considered,
                                      const ForecastOptions& options);

}  // namespace sharewell::simulation
