// Fits rates to measured rows: those of the GPU to the logarithm of busy seconds a step, then what
// the host spends to the logarithm of step time, given the busy seconds that were measured. Each is
// pulled towards a plausible value, because few rows speak for some; losses are soft, so that one
// odd row does not bend all.
#pragma once

#include <span>

#include "predict/base.h"
#include "predict/rates.h"

namespace sharewell::predict {

struct MeasuredStep {
  const StepWork* work = nullptr;
  double busy = 0, step = 0;  // seconds; 0: not measured
  double trust = 1;           // below 1: a noisy window
};

Rates FitRates(std::span<const MeasuredStep> steps);

}  // namespace sharewell::predict
