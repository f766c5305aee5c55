// StepSource: what a running job tells of its steps, for whoever asks now and then instead of
// hearing every one. Of a simulated cluster (simulated/simulated_steps.h).
#pragma once

#include <optional>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::engine {

struct StepReading {
  std::optional<double> steps;    // done in this attempt; absent: it has told none yet
  core::Seconds first_step;       // of this attempt; in the future: as long as it tells none
  std::optional<core::Ratio> sm;  // of its one GPU, kept active by all jobs there
};

class StepSource {
 public:
  virtual ~StepSource() = default;
  // REQUIRES: the job runs, and did so at `at`, which is not in the future.
  virtual StepReading Read(core::JobId job, core::Seconds at) const = 0;
};

}  // namespace sharewell::engine
