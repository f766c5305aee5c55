// Run: how a graph is run: the precision it computes in, whether it trains, and with which
// optimizer.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace sharewell::graph {

// bf16 and fp16 mean mixed precision as frameworks run it (autocast): weights stay in fp32, matrix
// products and convolutions read half-precision copies.
enum class Precision : std::uint8_t { kFp32, kTf32, kBf16, kFp16 };
enum class Optimizer : std::uint8_t { kSgd, kMomentum, kAdam };  // kAdam: AdamW too

struct Run {
  Precision precision = Precision::kFp32;
  bool training = true;
  Optimizer optimizer = Optimizer::kMomentum;

  bool mixed() const { return precision == Precision::kBf16 || precision == Precision::kFp16; }
};

std::string_view NameOf(Precision precision);  // "bf16"
std::string_view NameOf(Optimizer optimizer);  // "plain-sgd", "sgd", "adamw"
core::Result<Precision> ParsePrecision(std::string_view word);
// "sgd" is SGD with momentum, as nearly everybody runs it; "plain-sgd" goes without.
core::Result<Optimizer> ParseOptimizer(std::string_view word);

int StatesOf(Optimizer optimizer);  // fp32 numbers kept for each weight

}  // namespace sharewell::graph
