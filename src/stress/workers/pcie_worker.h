// Workers for PCIe: copies between pinned host memory and a GPU.
#pragma once

#include <string>
#include <vector>

#include "stress/paced_threads.h"
#include "stress/pressure.h"
#include "stress/workers/cuda_driver.h"

namespace sharewell::stress {

inline constexpr double kPcieMostPiece = 8.0 * (1 << 20);  // bytes; amounts are no larger

struct PcieWorkersMade {
  std::vector<PlacedWorker> workers;
  CudaGpu gpu;
};

// Two threads, so that one copies while the other waits; each has streams and buffers of its own
// (16 MiB on the GPU, 16 MiB pinned). Amounts are bytes over the bus, both ways together.
core::Result<PcieWorkersMade> PcieWorkers(const std::string& library, int gpu,
                                          PcieDirection direction, const std::vector<int>& cpus);

}  // namespace sharewell::stress
