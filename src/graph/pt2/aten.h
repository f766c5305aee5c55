// What PyTorch's operators are, by name: one table, so that a missing one is one word.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace sharewell::graph::pt2 {

// How an operator's kind and arithmetic are found.
enum class Rule {
  kPlain,           // its kind says all
  kConv,            // input, weight, bias
  kConvTransposed,  // the same, transposed
  kConvolution,     // either, as its argument "transposed" says
  kProduct,         // operands; contracts the last dimension of the first
  kAddedProduct,    // what is added, then the operands
  kEinsum,
  kAttention,         // q, k, v as [..., heads, tokens, width]
  kAttentionByToken,  // q, k, v as [..., tokens, heads, width]
  kSequence,          // LSTM, GRU, RNN over a sequence: input, hx, params
  kPackedSequence,    // the same on packed data: data, batch_sizes, hx, params
  kCell,              // one step of one: input, hx, weights
  kPool,              // a window
  kAdaptivePool,      // a window as large as input over output
  kDropout,           // a copy of its input where nothing is dropped
  kCast,              // nothing where the type stays
  kLayout,            // a copy where the input does not lie in order, else nothing
  kFill,              // made from nothing: a kernel where it is large
};

struct Aten {
  Rule rule = Rule::kPlain;
  Kind kind = Kind::kUnknown;
};

// The operator without its namespace aten, the overload and the underscore of the in-place kind:
// "conv2d", "max"; those of other namespaces with it: "torchvision.roi_align".
std::optional<Aten> AtenOf(std::string_view op, std::string_view overload);

}  // namespace sharewell::graph::pt2
