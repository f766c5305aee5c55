// Rewriter: finds one's way in a graph (who makes a value, who reads it) and replaces groups of
// operators by one. What a replacement leaves unread is removed with it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sharewell::graph::fuse {

using OpIndex = std::int32_t;
inline constexpr OpIndex kNoOp = -1;

class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  const Graph& graph() const { return graph_; }
  OpIndex size() const { return static_cast<OpIndex>(graph_.ops.size()); }
  bool Gone(OpIndex op) const { return gone_[static_cast<std::size_t>(op)]; }
  const Op& At(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  const Tensor& Of(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }

  OpIndex Maker(TensorId id) const;  // kNoOp: an input, a weight, absent
  // The one operator that reads it, once; kNoOp when there are others, or it is an output.
  OpIndex OnlyReader(TensorId id) const;
  const std::vector<OpIndex>& Readers(TensorId id) const;  // each as often as it reads
  bool IsOutput(TensorId id) const { return output_[static_cast<std::size_t>(id)]; }

  bool IsNumber(TensorId id) const;  // one element, no input and no activation of the model
  bool IsWeight(TensorId id) const;
  // The other operand of a pointwise operator of two; kAbsent when `id` is neither or both.
  TensorId Other(OpIndex op, TensorId id) const;

  // The framework ran the operator that made this value by itself: a traced graph names it "mul_3",
  // where the end of a spelled-out fused kernel is "silu" or "scaled_dot_product_attention".
  bool RanApart(TensorId id) const;

  // Puts `fused` where operator `at` stands and takes `parts` (with `at`) away. `at` must stand
  // behind the makers of all that `fused` reads.
  void Replace(std::span<const OpIndex> parts, OpIndex at, Op fused);

  // Takes away views and shape arithmetic that nothing reads: weights put into ONNX's layout for an
  // operator that now reads the weights themselves.
  void DropUnread();

  // Removes what is gone, and tensors that nothing refers to, weights apart. Ends the rewriter's
  // use: indices have changed.
  void Finish();

 private:
  void Unread(OpIndex op);
  void Sweep(TensorId id);

  Graph& graph_;
  std::vector<OpIndex> maker_;
  std::vector<std::vector<OpIndex>> readers_;
  std::vector<bool> output_;
  std::vector<bool> gone_;
};

}  // namespace sharewell::graph::fuse
