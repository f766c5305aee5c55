// Yeung et al. on a real machine: records of a mix that was run through the server
// (docs/formats/run.md), one a policy, beside the paper's Table 4 and beside what the simulator
// makes of the same jobs.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// One record a policy; all of the same mix. A file that is missing, is no such record, or does not
// belong to the others is a usage error that names it.
core::Result<Experiment> YeungReal(const std::vector<std::string>& files);

}  // namespace sharewell::research::reproduce
