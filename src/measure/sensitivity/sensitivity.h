// Runs a command once and presses on the machine in phases while it runs: how much speed does each
// pressure cost it?
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "measure/sensitivity/sensitivity_result.h"
#include "measure/watch.h"
#include "stress/pressure.h"

namespace sharewell::measure {

struct WantedPressure {
  stress::PressureSpec spec;        // its level is not looked at
  std::vector<core::Ratio> shares;  // one phase each, of what the machine can do
};

struct SensitivityProgress {
  std::string what;  // "memory bandwidth 75 %"
  std::size_t done = 0, of = 0;
};

struct SensitivityOptions {
  RunSpec run;
  WatchOptions watch;  // interval, warmup, at_most (of the warm-up), grace, collectors, world
  core::Seconds phase{10};
  std::vector<WantedPressure> pressures;
  std::function<core::Result<std::unique_ptr<stress::Pressure>>(const stress::PressureSpec&)>
      prepare = stress::Pressure::Prepare;
  std::function<void(const SensitivityProgress&)> progress = {};
};

// The levels that are tried when none are given.
std::vector<core::Ratio> UsualShares(stress::PressureKind kind);

// A pressure that this machine has not is said, not an error. An error: the command could not be
// started, failed, or ended before it was warm; no pressure could be prepared.
core::Result<SensitivityResult> Sensitivity(const SensitivityOptions& options);

}  // namespace sharewell::measure
