// StepSource: what a running job tells of its steps, for whoever asks now and then instead of
// hearing every one. Of a simulated cluster (simulated/simulated_steps.h).
#pragma once

#include <optional>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::engine {

// REQUIRES: the job runs, and did so at `at`, which is not in the future.
class StepSource {
 public:
  virtual ~StepSource() = default;
  // Of this attempt; in the future: as long as it tells none.
  virtual core::Seconds FirstStep(core::JobId job) const = 0;
  // Done in this attempt; absent: it has told none yet.
  virtual std::optional<double> Steps(core::JobId job, core::Seconds at) const = 0;
  // Of its one GPU, kept active by all jobs there.
  virtual std::optional<core::Ratio> Sm(core::JobId job, core::Seconds at) const = 0;
};

}  // namespace sharewell::engine
