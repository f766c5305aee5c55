// How fast jobs that share a GPU really are in a simulated world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ids.h"
#include "core/units.h"
#include "interference/interference.h"

namespace sharewell::sim {

// Speed of residents[i] beside the others on one GPU of `model`, over its speed alone with all SMs.
// Where the pair was not measured it has a residual of the size that the model of interference is
// known to err by. The draw is by `seed` and the workloads, not by the jobs: the same co-location
// always errs the same way. REQUIRES i below residents.size(), at most core::kMaxJobsOnGpu.
core::Ratio TrueSpeed(const interference::Interference& interference, std::uint64_t seed,
                      core::GpuModelId model, std::span<const interference::Resident> residents,
                      std::size_t i);

}  // namespace sharewell::sim
