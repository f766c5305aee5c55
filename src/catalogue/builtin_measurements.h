// What we measured on an H200 and carry inside the program: data/h200/.
#pragma once

#include <vector>

#include "catalogue/groups_file.h"
#include "core/job/profile.h"

namespace sharewell::catalogue {

// Of the first sitting alone (profiles.csv and pairs.csv): what the reproductions are stated for.
core::Measurements FirstSitting();

// Those, and the workloads and pairs that only the later sittings have (profiles-2.csv and
// pairs-2.csv). Where both measured the same, the first stands: a pair goes with its rates alone.
// Jobs that name no workload draw one of the first sitting's.
core::Measurements BuiltinMeasurements();

// Every measurement of several workloads together, repeats included: pairs.csv, pairs-2.csv and
// triples.csv. Their workloads are among the profiles of BuiltinMeasurements().
std::vector<core::GroupMeasurement> BuiltinGroups();

// All of them that have a rate alone, with the shares of the SMs that jobs were limited to: those
// above, then data/h200/shares.csv, groups.csv and groups-2.csv.
std::vector<MeasuredGroup> BuiltinMeasuredGroups();

// The workloads of those groups, each alone: the profiles of BuiltinMeasurements(), then those that
// only profiles-3.csv to profiles-5.csv have. The simulator and its jobs know nothing of the
// latter.
std::vector<core::Profile> ProfilesOfMeasuredGroups();

}  // namespace sharewell::catalogue
