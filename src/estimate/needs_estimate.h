// From what a job is believed to need on one GPU model to what policies read: the same on every GPU
// model of the cluster, with the user's own bounds. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/cluster.h"
#include "core/estimate.h"
#include "core/gpu_model.h"
#include "core/job/submission.h"

namespace sharewell::estimate {

// The GPU model of that name or alias; null: unknown. The catalogue's, as a rule.
using FindGpuModel = std::function<const core::GpuModel*(const std::string& name)>;

// What is not known is assumed cautiously: a job of unknown busy share or memory fills its GPU, and
// one of unknown cores gets what the user asked for, else its GPU's part of the host. No belief
// goes beyond the user's own bounds (cores, GPU memory). `find` is asked about a GPU model that the
// cluster does not have under that name.
core::Estimate EstimateFor(const core::Needs& needs, const core::Submission& asked,
                           const core::Cluster& cluster, const FindGpuModel& find);

// As a client may bring them: figures that can be none are left out, and what a client calls
// observed was told.
core::Needs AsBrought(core::Needs needs);

// A rate that runs were seen to have stands before one that nobody saw, on the same GPU model,
// whatever else they did not tell.
void TakeObservedPace(core::Needs& needs, const core::Needs& runs);

// How much GPU memory it may take at most by what is known; absent: nothing is.
std::optional<core::Bytes> MemoryUpper(const core::Needs& needs);

// `needs` with what `rest` knows and it does not; each such figure keeps its source.
void FillFrom(core::Needs& needs, const core::Needs& rest);

}  // namespace sharewell::estimate
