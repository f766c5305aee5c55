// One layer of a list while it is built, and the table of types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "graph/model_keys.h"

namespace sharewell::graph::layers {

struct Layer {
  Builder& builder;
  json::Reader& keys;  // errors go here; a layer in error returns its input
  std::string type;
  std::string name;
  TensorId x = kAbsent;        // what comes in
  std::vector<TensorId> with;  // what else it was given

  const Dims& in() const { return builder.dims(x); }
  // False, and an error that says what was expected, when the input has another rank.
  bool NeedsRank(std::size_t least, std::size_t most, std::string_view as);
  // False, and an error, when an output would have a dimension that no tensor has.
  bool Fits(const Dims& out);
};

struct Type {
  std::string_view name;
  std::string_view keys;  // beside type, name and from; separated by spaces
  TensorId (*build)(Layer&);
};

// In the order of the documentation. "repeat" is not among them: it is a list, not a layer.
std::span<const Type> Types();

inline constexpr std::int64_t kMostChannels = 1 << 24;
inline constexpr std::int64_t kLargestWindow = 1 << 16;

// window.cc
TensorId BuildConv(Layer& layer);
TensorId BuildDeconv(Layer& layer);
TensorId BuildPool(Layer& layer);
TensorId BuildGlobalPool(Layer& layer);
TensorId BuildUpsample(Layer& layer);
// dense.cc
TensorId BuildLinear(Layer& layer);
TensorId BuildEmbedding(Layer& layer);
TensorId BuildRecurrent(Layer& layer);
TensorId BuildAttention(Layer& layer);
TensorId BuildNorm(Layer& layer);
TensorId BuildGroupNorm(Layer& layer);
// shape.cc
TensorId BuildFlatten(Layer& layer);
TensorId BuildReshape(Layer& layer);
TensorId BuildPermute(Layer& layer);
TensorId BuildSelect(Layer& layer);
TensorId BuildMean(Layer& layer);
TensorId BuildConcat(Layer& layer);
TensorId BuildPointwise(Layer& layer);

std::string DimsText(const Dims& dims);  // "[8, 3, 224, 224]"

}  // namespace sharewell::graph::layers
