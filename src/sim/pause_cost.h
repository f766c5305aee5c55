// What a pause costs a job: its GPU memory goes to the host and back (core::Stop::pause).
#pragma once

#include "core/units.h"

namespace sharewell::sim {

// Measured on an H200 with driver 580: 2.8 s out and 1.05 s back for a ResNet-50 loop that held
// 4.4 GB, of which 0.7 s out were there without any memory to speak of. tools/lab/pause.py measures
// it again by size. All of it is charged to the job when it goes on, though the first part is its
// successor's to wait for.
constexpr core::Seconds PauseCost(core::Bytes gpu_memory) {
  constexpr double kOut = 0.7, kOutPerGb = 0.66, kBackPerGb = 0.26;
  return core::Seconds(kOut + (kOutPerGb + kBackPerGb) * gpu_memory.value / 1e9);
}

}  // namespace sharewell::sim
