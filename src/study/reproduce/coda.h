// CODA: how many cores a training job needs, and what CPU-only jobs beside it cost.
#pragma once

#include "core/result.h"
#include "study/reproduce/reproduce.h"

namespace sharewell::study::reproduce {

core::Result<Experiment> Coda(const ReproduceOptions& options);

}  // namespace sharewell::study::reproduce
