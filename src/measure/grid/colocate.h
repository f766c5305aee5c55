// Runs workloads alone and then together, and says how fast each goes beside others.
#pragma once

#include "measure/grid/colocate_result.h"
#include "measure/grid/colocate_spec.h"
#include "measure/grid/sweep.h"

namespace sharewell::measure {

struct ColocateOptions {
  GridOptions grid;
  // Under CUDA MPS; these go into every job's environment. Empty: time-sliced, or no GPU.
  bool mps = false;
  std::vector<std::pair<std::string, std::string>> mps_environment;
};

// As Sweep: what is finished is not run again, and a failure of one set is its own.
core::Result<ColocateResult> Colocate(const ColocateSpec& spec, const ColocateOptions& options);

}  // namespace sharewell::measure
