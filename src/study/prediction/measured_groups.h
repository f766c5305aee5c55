// What predict/colocation/colocation.h learns from, put together from measurements: each
// co-location's workloads with their demands and rates alone.
#pragma once

#include <span>
#include <vector>

#include "core/profile.h"
#include "core/result.h"
#include "predict/colocation/colocation.h"

namespace sharewell::study {

// One workload as it was measured alone.
predict::Resident ResidentOf(const core::Profile& profile);

// In order. An error where a workload has no profile, which it names.
core::Result<std::vector<predict::Colocation>> ColocationsOf(
    std::span<const core::GroupMeasurement> measured, std::span<const core::Profile> profiles);

}  // namespace sharewell::study
