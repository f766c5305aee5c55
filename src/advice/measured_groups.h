// What predict/colocation/colocation.h learns from, put together from measurements: each
// co-location's workloads with their demands and rates alone.
#pragma once

#include <span>
#include <vector>

#include "catalogue/groups_file.h"
#include "core/job/profile.h"
#include "core/result.h"
#include "predict/colocation/colocation.h"
#include "predict/predictor.h"

namespace sharewell::advice {

// One workload as it was measured alone.
predict::Resident ResidentOf(const core::Profile& profile);

struct MeasuredColocations {
  std::vector<predict::Colocation> groups;  // those with a profile of every workload
  std::size_t left_out = 0;                 // the others
};

// Groups in order; then each job that was measured alone with its share of the SMs, once. A
// workload that was not profiled with so many loader workers is taken as with another number of
// them. Its demands are those of the group's sitting: what was measured there, and the rest of the
// profile at the rate alone there, because the GPU's part of a step repeats and the host's does
// not.
//
// Where `predictor` is there and has learnt from all workloads of a group, what it told of them
// without their families stands in Colocation::predicted.
//
// An error where a workload has no rate alone, or no group is left.
core::Result<MeasuredColocations> ColocationsOf(std::span<const catalogue::MeasuredGroup> measured,
                                                std::span<const core::Profile> profiles,
                                                const predict::Predictor* predictor = nullptr);

// Those that are inside the program (catalogue/builtin_measurements.h).
core::Result<MeasuredColocations> BuiltinColocations(const predict::Predictor* predictor = nullptr);

}  // namespace sharewell::advice
