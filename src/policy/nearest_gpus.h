// Which of a node's GPUs a job gets where some are nearer to each other than others.
#pragma once

#include <vector>

#include "core/gpu_islands.h"

namespace sharewell::policy {

struct NearGpus {
  std::vector<int> gpus;  // rising
  int spread = 0;         // the distances between them, summed
};

// `count` of the idle ones that are near each other; of such sets the one that breaks up least of
// what is near among the idle ones, then the lowest. Each GPU gathers the nearest to it, and what
// is gathered is improved by exchanges: on the machines that there are that finds the nearest set.
// REQUIRES: idle, rising, has as many.
NearGpus NearestGpus(const core::GpuIslands& islands, const std::vector<int>& idle, int count);

}  // namespace sharewell::policy
