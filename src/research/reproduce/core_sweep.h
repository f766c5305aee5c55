// How fast training loops are on 1 to 16 cores beside one H200, as `sharewell sweep` measured it
// with real CPU sets: data/h200/cores.csv and inception.csv. Dube and Sura, and CODA, are set
// beside it.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "measure/grid/knee.h"

namespace sharewell::research::reproduce {

struct CoreCell {
  double cpus = 0;
  double samples_per_second = 0;
  double uncertainty = 0;   // of the rate, ratio
  double cores_in_use = 0;  // of `cpus`
  double pcie = 0;          // bytes a second, host to GPU and back
  double busy = 0;          // of the GPU
};

struct CoreCurve {
  std::string label;            // "alexnet"
  std::vector<CoreCell> cells;  // cpus rise
  measure::Knee knee;
  int batch = 0;

  // REQUIRES: it was measured on so many.
  const CoreCell& At(double cpus) const;
};

// AlexNet, ResNet-50, VGG16 and a transformer encoder.
core::Result<std::vector<CoreCurve>> MeasuredCores();

// Inception v3, a curve for each batch: 16, 64, 128.
core::Result<std::vector<CoreCurve>> MeasuredInception();

}  // namespace sharewell::research::reproduce
