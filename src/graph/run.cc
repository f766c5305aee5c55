#include "graph/run.h"

#include <array>
#include <string>
#include <vector>

#include "core/precision_words.h"
#include "core/text/suggest.h"

namespace sharewell::graph {
namespace {

constexpr auto& kPrecisions = core::kPrecisionWords;  // in the order of the enum
// In the order of the enum; "adam" is read as adamw.
constexpr std::array<std::string_view, 3> kOptimizers = {"plain-sgd", "sgd", "adamw"};

}  // namespace

std::string_view NameOf(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

std::string_view NameOf(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}

core::Result<Precision> ParsePrecision(std::string_view word) {
  const std::string lower = core::LowerCase(word);
  for (std::size_t i = 0; i < kPrecisions.size(); ++i) {
    if (kPrecisions[i] == lower) return static_cast<Precision>(i);
  }
  if (lower == "amp") return Precision::kFp16;
  return core::UsageError("'{}' is no precision we know; use fp32, tf32, bf16 or fp16", word);
}

core::Result<Optimizer> ParseOptimizer(std::string_view word) {
  const std::string lower = core::LowerCase(word);
  for (std::size_t i = 0; i < kOptimizers.size(); ++i) {
    if (kOptimizers[i] == lower) return static_cast<Optimizer>(i);
  }
  if (lower == "adam") return Optimizer::kAdam;
  return core::UsageError(
      "'{}' is no optimizer we know; use sgd (with momentum), plain-sgd or adamw", word);
}

int StatesOf(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
      return 1;
    case Optimizer::kAdam:
      break;
  }
  return 2;
}

}  // namespace sharewell::graph
