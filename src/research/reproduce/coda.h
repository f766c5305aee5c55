// CODA: how many cores a training job needs, and what CPU-only jobs beside it cost.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

core::Result<Experiment> Coda(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
