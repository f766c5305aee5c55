// Layers that multiply by weights without a window, and normalisation.
#include <fmt/format.h>

#include <algorithm>

#include "graph/layers/layer.h"

namespace sharewell::graph::layers {

TensorId BuildLinear(Layer& layer) {
  const std::int64_t out = layer.keys.NeedWhole("out", {1, 1 << 28});
  const bool bias = layer.keys.FlagOr("bias", true);
  if (!layer.NeedsRank(1, kMostDims, "at least one dimension") || !layer.keys.ok()) return layer.x;
  return layer.builder.Linear(layer.x, out, bias, layer.name);
}

TensorId BuildEmbedding(Layer& layer) {
  const std::int64_t rows = layer.keys.NeedWhole("rows", {1, kLargestDim});
  const std::int64_t width = layer.keys.NeedWhole("dim", {1, kMostChannels});
  Dims out = layer.in();
  out.push_back(width);
  if (!layer.keys.ok() || !layer.Fits(out)) return layer.x;
  return layer.builder.Embedding(layer.x, rows, width, layer.name);
}

TensorId BuildRecurrent(Layer& layer) {
  const std::int64_t hidden = layer.keys.NeedWhole("hidden", {1, kMostChannels});
  const std::int64_t layers = layer.keys.WholeOr("layers", 1, {1, 100});
  const bool both = layer.keys.FlagOr("bidirectional", false);
  const double dropout = layer.keys.NumberOr("dropout", 0, {0, 1});
  if (!layer.NeedsRank(3, 3, "3 dimensions, [batch, steps, features]") || !layer.keys.ok()) {
    return layer.x;
  }
  const std::int64_t gates = layer.type == "lstm" ? 4 : layer.type == "gru" ? 3 : 1;
  TensorId x = layer.x;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = layers == 1 ? layer.name : fmt::format("{}.{}", layer.name, i);
    x = layer.builder.Recurrent(x, hidden, gates, both, layer.type, name);
    if (dropout > 0 && i + 1 < layers) {
      x = layer.builder.Same(Kind::kDropout, "Dropout", x, name + ".dropout");
    }
  }
  return x;
}

TensorId BuildAttention(Layer& layer) {
  json::Reader& keys = layer.keys;
  if (!layer.NeedsRank(3, 3, "3 dimensions, [batch, tokens, features]")) return layer.x;
  const std::int64_t width = layer.in()[2];
  const std::int64_t heads = keys.NeedWhole("heads", {1, 1 << 16});
  const std::int64_t kv_heads = keys.WholeOr("kv_heads", heads, {1, 1 << 16});
  const std::int64_t window = keys.WholeOr("window", kLargestDim, {1, kLargestDim});
  const bool bias = keys.FlagOr("bias", true);
  const TensorId over = layer.with.empty() ? layer.x : layer.with[0];
  const Dims other = layer.builder.dims(over);
  if (layer.with.size() > 1 || other.size() != 3 || other[0] != layer.in()[0]) {
    keys.Fail("with",
              fmt::format("must be one layer of [{}, tokens, features] to attend to, not {}",
                          layer.in()[0], DimsText(other)));
  }
  if (keys.ok() && width % heads != 0) {
    keys.Fail("heads", fmt::format("is {}, which does not divide the {} features", heads, width));
  }
  if (keys.ok() && heads % kv_heads != 0) {
    keys.Fail("kv_heads",
              fmt::format("is {}, which does not divide the {} heads", kv_heads, heads));
  }
  if (!keys.ok()) return layer.x;
  Builder& b = layer.builder;
  const std::int64_t kv_width = width / heads * kv_heads;
  const TensorId q = b.Linear(layer.x, width, bias, layer.name + ".query");
  const TensorId k = b.Linear(over, kv_width, bias, layer.name + ".key");
  const TensorId v = b.Linear(over, kv_width, bias, layer.name + ".value");
  const TensorId y = b.Attention(q, k, v, heads, kv_heads, std::min(window, other[1]), layer.name);
  return b.Linear(y, width, bias, layer.name + ".out");
}

TensorId BuildNorm(Layer& layer) {
  const bool by_channel = layer.type == "batchnorm" || layer.type == "instancenorm";
  if (!layer.NeedsRank(by_channel ? 2 : 1, kMostDims,
                       by_channel ? "[batch, channels, ...]" : "at least one dimension")) {
    return layer.x;
  }
  const bool affine = layer.keys.FlagOr("affine", layer.type != "instancenorm");
  const std::int64_t width = by_channel ? layer.in()[1] : layer.in().back();
  const auto scaling = !affine                   ? Builder::Affine::kNone
                       : layer.type == "rmsnorm" ? Builder::Affine::kScale
                                                 : Builder::Affine::kScaleAndShift;
  const char* shown = layer.type == "batchnorm"      ? "BatchNorm"
                      : layer.type == "instancenorm" ? "InstanceNorm"
                      : layer.type == "rmsnorm"      ? "RMSNorm"
                                                     : "LayerNorm";
  return layer.builder.Norm(layer.x, shown, width, scaling, layer.type == "batchnorm", layer.name);
}

TensorId BuildGroupNorm(Layer& layer) {
  if (!layer.NeedsRank(2, kMostDims, "[batch, channels, ...]")) return layer.x;
  const std::int64_t groups = layer.keys.NeedWhole("groups", {1, kMostChannels});
  const bool affine = layer.keys.FlagOr("affine", true);
  if (layer.keys.ok() && layer.in()[1] % groups != 0) {
    layer.keys.Fail("groups", fmt::format("is {}, which does not divide the {} channels", groups,
                                          layer.in()[1]));
  }
  return layer.builder.Norm(layer.x, "GroupNorm", layer.in()[1],
                            affine ? Builder::Affine::kScaleAndShift : Builder::Affine::kNone,
                            false, layer.name);
}

}  // namespace sharewell::graph::layers
