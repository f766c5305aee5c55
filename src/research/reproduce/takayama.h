// Takayama et al., section IV.D: GPU generations by gain (Table IX in, Table X out).
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

core::Result<Experiment> Takayama(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
