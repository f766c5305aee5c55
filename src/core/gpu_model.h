// Facts about one GPU model (H200), as the catalogue file gives them. Never a particular card.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

// A name as it is compared, for people and programs write one GPU as `RTX 3090`, `rtx3090`,
// `NVIDIA GeForce RTX 3090` and `NVIDIA-GeForce-RTX-3090`: small letters, no spaces, dashes or
// underscores, no maker and no brand in front.
std::string FoldedGpuName(std::string_view name);

// Whether it is the model's name or one of its aliases, however it is written.
bool IsNamed(const GpuModel& model, std::string_view name);
// Whether the list is empty or one of its names is the model's.
bool IsAllowed(const std::vector<std::string>& names, const GpuModel& model);

}  // namespace sharewell::core
