// Ryu and Chun: which jobs contend on one GPU, and what a scheduler makes of knowing it.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

core::Result<Experiment> Ryu(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
