// Demand: the vector that contends, of one job on one GPU model, alone, with all the cores it can
// use. Per GPU for the GPU's own figures, for the whole job for the host's.
#pragma once

#include <optional>

#include "core/units.h"

namespace sharewell::core {

struct Demand {
  Ratio busy = 1;                      // share of time that some kernel runs (NVML's utilisation)
  Ratio sm = 1;                        // SM activity
  Ratio dram = 0;                      // device memory bandwidth used, of what the model has
  Bytes gpu_memory;                    // in steady state, context included
  BytesPerSecond pcie;                 // to the device and back, a GPU
  double cpu_cores = 0;                // cores kept busy at full speed, a GPU
  Bytes host_memory;                   // a GPU
  BytesPerSecond host_bandwidth;       // host memory traffic, a GPU
  Watts power;                         // board power, a GPU; 0 when not known
  std::optional<Seconds> kernel_time;  // mean of one kernel, with all SMs; absent: not known
  std::optional<double> kernels;       // a step; absent: not known
  bool known = false;  // false: nothing was measured or predicted; the figures above are a
                       // cautious assumption (the job fills the GPU)

  friend bool operator==(const Demand&, const Demand&) = default;
};

}  // namespace sharewell::core
