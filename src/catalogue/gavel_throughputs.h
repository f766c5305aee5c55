// Gavel's throughput JSON: GPU -> job type -> rate alone and with each other job type.
#pragma once

#include <string>
#include <string_view>

#include "core/job/profile.h"
#include "core/result.h"

namespace sharewell::catalogue {

// The workload name of a Gavel job type on so many GPUs: "CycleGAN", "LM (batch size 5) x4". The
// trace reader uses the same, so that gang jobs find their rates.
std::string GavelWorkload(std::string_view type, int scale_factor);

// One GPU: profiles and pairs, each pair once. More GPUs: profiles only. A rate alone of 0 (it does
// not fit) makes no profile; a pair of zeros has fits = false. The GPUs named *_unconsolidated
// (gangs spread over machines) are left out: they are no GPU models.
core::Result<core::Measurements> ReadGavelThroughputs(std::string_view text,
                                                      const std::string& name);

}  // namespace sharewell::catalogue
