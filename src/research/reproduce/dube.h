// Dube and Sura: what more CPUs and a larger batch are worth to a training job.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

core::Result<Experiment> Dube(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
