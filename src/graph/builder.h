// Builder: a graph made layer by layer, for readers whose files state layers and not operators. It
// infers shapes and counts arithmetic. Not thread-safe; takes no care of sizes that do not fit: its
// callers check what a file says before they build from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sharewell::graph {

struct ConvShape {
  std::int64_t out = 1, groups = 1;
  Dims kernel, stride, padding, dilation;  // one number for each spatial dimension
  bool bias = true;
};

class Builder {
 public:
  Builder(std::string format, std::int64_t batch);

  // The dimensions of a tensor of this graph, which are always known.
  const Dims& dims(TensorId id) const { return *graph_.tensors[static_cast<std::size_t>(id)].dims; }
  std::size_t op_count() const { return graph_.ops.size(); }

  TensorId Input(std::string name, Dims dims, DType dtype = DType::kFloat);
  TensorId Weight(std::string name, Dims dims);
  TensorId Constant(std::string name, Dims dims, DType dtype = DType::kFloat);

  // All name their weights after the layer: "encoder.0.query" has "encoder.0.query.weight".
  TensorId Linear(TensorId x, std::int64_t out, bool bias, const std::string& name);
  // The last dimension of x by a weight of [out, in] that other layers use too.
  TensorId LinearWith(TensorId x, TensorId weight, TensorId bias, const std::string& name);
  TensorId Product(TensorId a, TensorId b, Dims out, double macs, const std::string& name);
  // Input as [batch, channels, spatial...].
  TensorId Conv(TensorId x, const ConvShape& shape, const std::string& name);
  TensorId Deconv(TensorId x, const ConvShape& shape, const std::string& name);
  TensorId Embedding(TensorId ids, std::int64_t rows, std::int64_t width, const std::string& name);
  TensorId LookUp(TensorId ids, TensorId table, const std::string& name);
  // q as [batch, tokens, heads x width], k and v with `kv_heads`, which several queries share;
  // every query sees `seen` keys. The mask is added to the scores.
  TensorId Attention(TensorId q, TensorId k, TensorId v, std::int64_t heads, std::int64_t kv_heads,
                     std::int64_t seen, const std::string& name, TensorId mask = kAbsent);
  // Views of `count` equal parts of the last dimension.
  std::vector<TensorId> Split(TensorId x, std::int64_t count, const std::string& name);
  // One layer of a recurrent network on [batch, steps, width]; `gates` is 4 for LSTM, 3 for GRU, 1.
  TensorId Recurrent(TensorId x, std::int64_t hidden, std::int64_t gates, bool both_directions,
                     std::string_view type, const std::string& name);

  enum class Affine { kNone, kScale, kScaleAndShift };
  // Scales `width` features; kept statistics (batch normalisation) are two constants more.
  TensorId Norm(TensorId x, std::string_view type, std::int64_t width, Affine affine,
                bool statistics, const std::string& name);

  // Pointwise operators and others without weights: the output has `dims`.
  TensorId Apply(Kind kind, std::string_view type, std::vector<TensorId> inputs, Dims dims,
                 const std::string& name);
  TensorId Same(Kind kind, std::string_view type, TensorId x, const std::string& name) {
    return Apply(kind, type, {x}, dims(x), name);
  }
  TensorId Add(TensorId a, TensorId b, const std::string& name) {
    return Apply(Kind::kElementwise, "Add", {a, b}, dims(a), name);
  }
  TensorId Pool(TensorId x, std::string_view type, std::int64_t window, Dims dims,
                const std::string& name);

  Graph Finish(std::vector<TensorId> outputs) &&;

 private:
  TensorId NewTensor(std::string name, Dims dims, DType dtype, Role role);
  Op& NewOp(Kind kind, std::string_view type, const std::string& name, std::vector<TensorId> inputs,
            Dims out);
  double ElementsOf(TensorId id) const {
    return Elements(graph_.tensors[static_cast<std::size_t>(id)]);
  }

  Graph graph_;
};

// The length of a window's way: (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1; below 1
// when the window does not fit.
std::int64_t WindowSteps(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t dilation);

}  // namespace sharewell::graph
