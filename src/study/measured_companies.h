// What predict/together.h learns from, put together from measurements: each company's workloads
// with their demands and rates alone.
#pragma once

#include <span>
#include <vector>

#include "core/profile.h"
#include "core/result.h"
#include "predict/together.h"

namespace sharewell::study {

// One workload as it was measured alone.
predict::Resident ResidentOf(const core::Profile& profile);

// In order. An error where a workload has no profile, which it names.
core::Result<std::vector<predict::Company>> CompaniesOf(
    std::span<const core::CompanyMeasurement> measured, std::span<const core::Profile> profiles);

}  // namespace sharewell::study
