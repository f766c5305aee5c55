// What a job may use of its GPU's SMs: a cap that MPS keeps from a start to the next, so only for
// jobs on one GPU that may share it.
#pragma once

#include <optional>
#include <string>

#include "core/snapshot.h"
#include "core/units.h"

namespace sharewell::core {

constexpr Ratio kLeastSmShare = 0.01;  // MPS counts in percents

// What its user insists on; absent: nothing, or no share can be kept for it.
std::optional<Ratio> InsistedShare(const JobView& view);

// What it has while it runs; what it is started with where nobody decides otherwise.
Ratio StandingShare(const JobView& view);

// "at most 80 % of the SMs".
std::string ShareInWords(Ratio share);

// Why a start was given less than all: "at most 80 % of the SMs, so that short kernels of job 12
// find room". `other`: for whom, empty: for whoever comes. Empty where it may use all.
std::string ShareInWords(Ratio share, bool insisted, const std::string& other);

}  // namespace sharewell::core
