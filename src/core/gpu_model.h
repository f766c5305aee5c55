// Facts about one GPU model (H200), as the catalogue file gives them. Never a particular card.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::core {

struct GpuModel {
  std::string name;                  // "H200"
  std::vector<std::string> aliases;  // "NVIDIA H200", ...
  Bytes memory;
  BytesPerSecond bandwidth;
  double fp32_tflops = 0;             // plain CUDA cores
  std::optional<double> tf32_tflops;  // tensor cores, dense; absent where the GPU has none
  std::optional<double> fp16_tflops;  // best dense half-precision rate
  std::optional<double> bf16_tflops;
  int sms = 0;
  std::optional<Watts> power_limit;
  std::optional<Watts> idle_power;

  friend bool operator==(const GpuModel&, const GpuModel&) = default;
};

}  // namespace sharewell::core
