// Whether a submission could ever run on a cluster: its GPUs, their model and memory, its cores
// and host memory. Pure.
#pragma once

#include "core/cluster.h"
#include "core/job/submission.h"
#include "core/result.h"

namespace sharewell::server {

// A usage error says what it asks for and what there is.
core::Result<void> CheckFitsHere(const core::Submission& submission, const core::Cluster& cluster);

}  // namespace sharewell::server
