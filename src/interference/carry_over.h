// What a profile says of a job's demand, on the GPU model it was measured on and on others.
#pragma once

#include <optional>

#include "core/demand.h"
#include "core/estimate.h"
#include "core/gpu_model.h"
#include "core/job/profile.h"
#include "core/units.h"

namespace sharewell::interference {

// How much longer the GPU's part of a step takes on `to` than on `from`. Kernels that fill the SMs
// follow the GPUs' arithmetic (FP32 or half precision, where they differ less), others their memory
// bandwidth: the geometric mean of the two ratios, the arithmetic weighted by the square of the SM
// activity while kernels run, as where a job is limited to a share of the SMs (interference.h).
core::Ratio KernelStretch(const core::Demand& measured, const core::GpuModel& from,
                          const core::GpuModel& to);

// A profile measured on `from`, carried over to `to`: the GPU's part of a step (its busy share) is
// stretched, the host's is not. The two overlap as they do beside neighbours (interference.h): a
// loop whose host is the slower of the two hardly feels a slower GPU, which is Takayama et al.'s
// finding that jobs with a high GPU utilisation gain most from the better GPU. The rate is relative
// to the job on `from`. Against its table IX and against an H200 with 25 to 75 % of its SMs
// (data/h200/sms.csv) it is nearer than Amdahl's law: carry_over_test.cc.
core::ModelEstimate CarryOver(const core::Demand& measured, const core::GpuModel& from,
                              const core::GpuModel& to);

// The mean time of a kernel by its busy share, its rate and its kernels a step; absent where one of
// them is not known.
std::optional<core::Seconds> MeanKernelTime(const core::Profile& profile);

// The profile's figures, with what it does not tell assumed: an unknown busy share as a full GPU.
core::Demand DemandOf(const core::Profile& profile);

}  // namespace sharewell::interference
