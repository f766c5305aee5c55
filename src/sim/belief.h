// Belief: what a policy is told of a job in the simulator. Truth with error, drawn by seed: every
// figure times exp(N(0, S)), one draw a job and figure.
#pragma once

#include <cstdint>
#include <optional>

#include "core/estimate.h"
#include "core/job.h"
#include "sim/truth.h"

namespace sharewell::sim {

struct BeliefOptions {
  double figures = 0.154;                 // S of every figure; 0: exact. Seed 001's own accuracy
  std::optional<double> durations = 0.3;  // S of the duration; absent: durations are unknown
  std::uint64_t seed = 1;
};

core::Estimate Believe(const core::Job& job, const TrueJob& truth, const BeliefOptions& options);

// After the job was watched alone: its figures are measured, its duration still is what was
// believed.
core::Estimate Measured(const core::Job& job, const TrueJob& truth, const BeliefOptions& options);

}  // namespace sharewell::sim
