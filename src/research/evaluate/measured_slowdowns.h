// Measured slowdowns: every job that was measured beside others on one GPU (data/h200), against how
// busy all of them keep a GPU alone. Figure 5a of Yeung et al.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::research {

struct MeasuredSlowdown {
  std::string job, beside;      // "tv:resnet50@224 batch 64 bf16"; the others with " and " between
  std::size_t jobs = 0;         // on the GPU
  core::Ratio utilisation = 0;  // of all of them, each alone: the sum, may be above 1
  // Seconds a step beside the others over alone, less 1: what the paper draws. May be below 0.
  double slowdown = 0;
  bool all_sms = true;  // nobody was limited to a share of the SMs
};

// Pairs, triples and groups, repeats included, under MPS; groups whose workloads' utilisation is
// not known are left out.
core::Result<std::vector<MeasuredSlowdown>> MeasuredSlowdowns();

// How slowdown goes with the sum of utilisation. Correlations are absent where nothing varies.
struct SlowdownCorrelation {
  std::size_t jobs = 0;
  std::optional<double> pearson, spearman;
};
SlowdownCorrelation CorrelationOf(const std::vector<MeasuredSlowdown>& points);

}  // namespace sharewell::research
