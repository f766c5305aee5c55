// OpClass: operators that a GPU runs alike, as far as rates go. Finer than graph::Kind where the
// libraries are: a depthwise convolution reaches a twentieth of what a plain one does.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "graph/graph.h"

namespace sharewell::predict {

enum class OpClass {
  kStem,       // a convolution of at most four channels: images as they come
  kPointwise,  // a convolution with a window of one
  kConv,
  kDepthwise,
  kGrouped,
  kMatMul,
  kAttention,
  kNorm,
  kActivation,
  kElementwise,  // reductions too
  kSoftmax,
  kPool,
  kEmbedding,
  kMove,
  kRecurrent,
  kNone,  // no kernel, or not costed
};
inline constexpr std::size_t kOpClasses = static_cast<std::size_t>(OpClass::kNone);

constexpr std::array<std::string_view, kOpClasses> kOpClassNames = {
    "stem",       "pointwise",   "conv",    "depthwise", "grouped",   "matmul", "attention", "norm",
    "activation", "elementwise", "softmax", "pool",      "embedding", "move",   "recurrent"};

OpClass ClassOf(const graph::Graph& graph, const graph::Op& op);

// Multiply-accumulates an output element: the length of the sums.
double Contraction(const graph::Graph& graph, const graph::Op& op);

}  // namespace sharewell::predict
