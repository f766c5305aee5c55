// CODA: how many cores a training job needs, and what CPU-only jobs beside it cost.
#pragma once

#include "core/result.h"
#include "study/reproduce/core_sweep.h"
#include "study/reproduce/reproduce.h"

namespace sharewell::study::reproduce {

// `cores_needed_LABEL`: its knee, and what the next fewer cores keep, where there are any.
ReproduceRow CoresNeeded(const CoreCurve& curve);

core::Result<Experiment> Coda(const ReproduceOptions& options);

}  // namespace sharewell::study::reproduce
