// The precisions that a model is trained in, as users write them and files have them.
#pragma once

#include <array>
#include <string_view>

namespace sharewell::core {

inline constexpr std::array<std::string_view, 4> kPrecisionWords = {"fp32", "tf32", "bf16", "fp16"};

}  // namespace sharewell::core
