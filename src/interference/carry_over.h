// What a profile says of a job's demand, on the GPU model it was measured on and on others.
#pragma once

#include <optional>

#include "core/demand.h"
#include "core/estimate.h"
#include "core/gpu_model.h"
#include "core/profile.h"
#include "core/units.h"

namespace sharewell::interference {

// How much longer the GPU's part of a step takes on `to` than on `from`: between the ratio of their
// arithmetic and that of their memory bandwidth, as the geometric mean.
core::Ratio KernelStretch(const core::GpuModel& from, const core::GpuModel& to);

// A profile measured on `from`, carried over to `to`: the GPU's part of a step (its busy share) is
// stretched, the host's is not. That is Amdahl's law, and Takayama et al.'s finding that jobs with
// a high GPU utilisation gain most from the better GPU. The rate is relative to the job on `from`.
core::ModelEstimate CarryOver(const core::Demand& measured, const core::GpuModel& from,
                              const core::GpuModel& to);

// The mean time of a kernel by its busy share, its rate and its kernels a step; absent where one of
// them is not known.
std::optional<core::Seconds> MeanKernelTime(const core::Profile& profile);

// The profile's figures, with what it does not tell assumed: an unknown busy share as a full GPU.
core::Demand DemandOf(const core::Profile& profile);

}  // namespace sharewell::interference
