// Truth: what the simulated world runs on. Only sim and the studies that build a world may see it;
// a policy cannot (it includes core and interference alone, and is handed a Snapshot of beliefs).
#pragma once

#include <vector>

#include "core/estimate.h"
#include "core/gpu_model.h"
#include "core/profile.h"
#include "core/units.h"

namespace sharewell::sim {

struct TrueJob {
  core::Seconds work;                   // alone on the reference model, with enough cores
  std::vector<core::ModelEstimate> on;  // by GpuModelId
  core::CpuCurve cpu_curve;
  core::Seconds startup{};  // before its first step, at every start
};

// How much longer the GPU's part of a step takes on `to` than on `from`: between the ratio of their
// arithmetic and that of their memory bandwidth, as the geometric mean.
core::Ratio KernelStretch(const core::GpuModel& from, const core::GpuModel& to);

// A profile measured on `from`, carried over to `to`: the GPU's part of a step (its busy share) is
// stretched, the host's is not. That is Amdahl's law, and Takayama et al.'s finding that jobs with
// a high GPU utilisation gain most from the better GPU. The rate is relative to the job on `from`.
core::ModelEstimate CarryOver(const core::Demand& measured, const core::GpuModel& from,
                              const core::GpuModel& to);

// The profile's figures, with what it does not tell assumed: an unknown busy share as a full GPU.
core::Demand DemandOf(const core::Profile& profile);

}  // namespace sharewell::sim
