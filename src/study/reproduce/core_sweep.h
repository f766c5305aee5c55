// How fast training loops are on 1 to 16 cores beside one H200, as `sharewell sweep` measured it
// with real CPU sets: data/h200/cores.csv. Dube and Sura, and CODA, are set beside it.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "study/measure/grid/knee.h"

namespace sharewell::study::reproduce {

struct CoreCell {
  double cpus = 0;
  double samples_per_second = 0;
  double uncertainty = 0;   // of the rate, ratio
  double cores_in_use = 0;  // of `cpus`
};

struct CoreCurve {
  std::string label;            // "alexnet"
  std::vector<CoreCell> cells;  // cpus rise
  Knee knee;

  // REQUIRES: it was measured on so many.
  const CoreCell& At(double cpus) const;
};

// AlexNet, ResNet-50, VGG16 and a transformer encoder.
core::Result<std::vector<CoreCurve>> MeasuredCores();

}  // namespace sharewell::study::reproduce
