// Truth: what the simulated world runs on. Only sim and the studies that build a world may see it;
// a policy cannot (it includes core and interference alone, and is handed a Snapshot of beliefs).
#pragma once

#include <vector>

#include "core/estimate.h"
#include "core/units.h"

namespace sharewell::sim {

struct TrueJob {
  core::Seconds work;                   // alone on the reference model, with enough cores
  std::vector<core::ModelEstimate> on;  // by GpuModelId
  core::CpuCurve cpu_curve;
  core::Seconds startup{};  // before its first step, at every start
};

}  // namespace sharewell::sim
