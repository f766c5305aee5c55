// Belief: what a policy is told of a job in the simulator. Truth with error: drawn by seed (every
// figure times exp(N(0, S)), one draw a job and figure), or what a predictor really erred by.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/estimate.h"
#include "core/job/job.h"
#include "sim/truth.h"

namespace sharewell::sim {

// What a predictor said of a workload it had not learnt from, over what is true. Bounds are over
// the predicted figure.
struct PredictedFigures {
  double busy = 1, sm = 1, dram = 1, gpu_memory = 1, pcie = 1, cores = 1, host_memory = 1,
         power = 1, kernel_time = 1;
  double gpu_memory_upper = 1, cores_upper = 1, host_memory_upper = 1;
};

struct BeliefOptions {
  double figures = 0.154;  // S of every figure; 0: exact. Yeung et al.'s own accuracy
  std::optional<double> durations = 0.3;  // S of the duration; absent: durations are unknown
  std::uint64_t seed = 1;
  // By WorkloadId; where it is absent or the table ends, figures are drawn.
  std::vector<std::optional<PredictedFigures>> predicted = {};
};

core::Estimate Believe(const core::Job& job, const TrueJob& truth, const BeliefOptions& options);

// After the job was watched alone: its figures are measured, its duration still is what was
// believed.
core::Estimate Measured(const core::Job& job, const TrueJob& truth, const BeliefOptions& options);

}  // namespace sharewell::sim
