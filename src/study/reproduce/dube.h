// Dube and Sura: what more CPUs and a larger batch are worth to a training job.
#pragma once

#include "core/result.h"
#include "study/reproduce/reproduce.h"

namespace sharewell::study::reproduce {

core::Result<Experiment> Dube(const ReproduceOptions& options);

}  // namespace sharewell::study::reproduce
