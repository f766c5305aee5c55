// Yeung et al.: co-locating by predicted utilisation, 100 jobs on 12 GPUs.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

core::Result<Experiment> Yeung(const ReproduceOptions& options);

}  // namespace sharewell::research::reproduce
