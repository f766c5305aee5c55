// ViT and DeiT: an image cut into patches, and an encoder that normalises first.
#include <fmt/format.h>

#include <utility>

#include "graph/huggingface/family.h"

namespace sharewell::graph::huggingface {
namespace {

using Affine = Builder::Affine;

struct Shape {
  Dims image, patch;
  std::int64_t channels = 3, width = 1, layers = 1, heads = 1, inner = 1;
  std::int64_t extra = 1;  // tokens beside the patches: the class, and DeiT's distillation
  double dropout = 0;
  std::string activation;
  bool qkv_bias = true;
};

Shape ReadShape(const Request& request, json::Reader& keys) {
  Shape s;
  s.image = Wholes(keys, "image_size", {1, 1 << 16}, 2, 224);
  s.patch = Wholes(keys, "patch_size", {1, 1 << 16}, 2, 16);
  s.channels = keys.WholeOr("num_channels", 3, {1, 1 << 16});
  s.width = keys.WholeOr("hidden_size", 768, kWidth);
  s.layers = keys.WholeOr("num_hidden_layers", 12, kLayers);
  s.heads = keys.WholeOr("num_attention_heads", 12, kHeads);
  s.inner = keys.WholeOr("intermediate_size", 3072, kInner);
  s.extra = request.type == "deit" ? 2 : 1;
  s.dropout = keys.NumberOr("hidden_dropout_prob", 0, {0, 1});
  s.activation = keys.TextOr("hidden_act", "gelu");
  s.qkv_bias = keys.FlagOr("qkv_bias", true);
  CheckHeads(keys, s.width, s.heads);
  for (std::size_t i = 0; i < 2; ++i) {
    if (s.patch[i] > s.image[i]) {
      keys.Fail("patch_size",
                fmt::format("is {}, larger than the image ({})", s.patch[i], s.image[i]));
    }
  }
  return s;
}

class Vit {
 public:
  Vit(const Request& request, const Shape& shape)
      : request_(request), s_(shape), b_("", request.batch) {}

  Graph Build() && {
    TensorId x = Embed();
    for (std::int64_t i = 0; i < s_.layers; ++i) x = Layer(x, "encoder.layer." + std::to_string(i));
    x = Norm(x, "layernorm");
    if (request_.head != Head::kImageClassification) {
      const TensorId pooled =
          b_.Linear(FirstToken(b_, x, "pooler"), s_.width, true, "pooler.dense");
      return std::move(b_).Finish(
          {x, b_.Same(Kind::kActivation, "tanh", pooled, "pooler.activation")});
    }
    std::vector<TensorId> outputs;
    outputs.push_back(b_.Linear(FirstToken(b_, x, "cls"), request_.labels, true, "classifier"));
    if (request_.with_teacher) {
      outputs.push_back(b_.Linear(FirstToken(b_, x, "distillation"), request_.labels, true,
                                  "distillation_classifier"));
      outputs.push_back(b_.Add(outputs[0], outputs[1], "mean"));
    }
    return std::move(b_).Finish(std::move(outputs));
  }

 private:
  TensorId Norm(TensorId x, const std::string& name) {
    return b_.Norm(x, "LayerNorm", s_.width, Affine::kScaleAndShift, false, name);
  }

  TensorId Embed() {
    const TensorId image =
        b_.Input("pixel_values", {request_.batch, s_.channels, s_.image[0], s_.image[1]});
    const ConvShape patches{s_.width, 1, s_.patch, s_.patch, {0, 0}, {1, 1}, true};
    TensorId x = b_.Conv(image, patches, "embeddings.patches");
    const std::int64_t count = b_.dims(x)[2] * b_.dims(x)[3];
    x = b_.Apply(Kind::kView, "Flatten", {x}, {request_.batch, count, s_.width},
                 "embeddings.flatten");
    const Dims all = {request_.batch, count + s_.extra, s_.width};
    std::vector<TensorId> parts = {b_.Weight("embeddings.cls_token", {1, 1, s_.width}), x};
    if (s_.extra == 2)
      parts.push_back(b_.Weight("embeddings.distillation_token", {1, 1, s_.width}));
    x = b_.Apply(Kind::kMove, "Concat", std::move(parts), all, "embeddings.concat");
    x = b_.Add(x, b_.Weight("embeddings.position", {1, count + s_.extra, s_.width}),
               "embeddings.add");
    return Dropout(b_, x, s_.dropout, "embeddings.dropout");
  }

  TensorId Layer(TensorId x, const std::string& name) {
    const TensorId first = Norm(x, name + ".norm1");
    const TensorId q = b_.Linear(first, s_.width, s_.qkv_bias, name + ".query");
    const TensorId k = b_.Linear(first, s_.width, s_.qkv_bias, name + ".key");
    const TensorId v = b_.Linear(first, s_.width, s_.qkv_bias, name + ".value");
    TensorId y = b_.Attention(q, k, v, s_.heads, s_.heads, b_.dims(x)[1], name + ".attention");
    y = Dropout(b_, b_.Linear(y, s_.width, true, name + ".out"), s_.dropout, name + ".dropout1");
    x = b_.Add(y, x, name + ".add1");
    y = b_.Linear(Norm(x, name + ".norm2"), s_.inner, true, name + ".up");
    y = b_.Linear(b_.Same(Kind::kActivation, s_.activation, y, name + ".activation"), s_.width,
                  true, name + ".down");
    return b_.Add(Dropout(b_, y, s_.dropout, name + ".dropout2"), x, name + ".add2");
  }

  const Request& request_;
  const Shape& s_;
  Builder b_;
};

}  // namespace

Graph BuildVit(const Request& request, json::Reader& keys) {
  const Shape shape = ReadShape(request, keys);
  if (!keys.ok()) return {};
  return Vit(request, shape).Build();
}

}  // namespace sharewell::graph::huggingface
