// Synergy's CPU curves (OSDI'22; github.com/msr-fiddle/synergy, MIT): throughput against cores of
// 33 model x GPU-count profiles on V100. The file is not ours to ship.
#pragma once

#include <string>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"

namespace sharewell::research::reproduce {

struct SynergyCurve {
  int gpus = 1;
  core::Profile profile;  // on V100: the curve, cores a GPU, and nothing else
};

// From `folder`/synergy/synergy_cpu_mem_sensitivity.csv; `folder` empty: SHAREWELL_TEST_DATA, else
// ../shared/data. Empty when the file is not there; a broken one is a usage error.
core::Result<std::vector<SynergyCurve>> ReadSynergy(std::string folder);

}  // namespace sharewell::research::reproduce
