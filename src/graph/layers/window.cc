// Layers that move a window over space: inputs are [batch, channels, space...].
#include <fmt/format.h>

#include <algorithm>

#include "core/text/quoted.h"
#include "graph/layers/layer.h"

namespace sharewell::graph::layers {
namespace {

constexpr json::Range kWindow{1, kLargestWindow};

// Everything a convolution states, for as many dimensions as its type says.
std::optional<ConvShape> ReadConv(Layer& layer) {
  const auto spatial = static_cast<std::size_t>(layer.type[layer.type.size() - 2] - '0');
  if (!layer.NeedsRank(spatial + 2, spatial + 2,
                       fmt::format("{} dimensions, [batch, channels, space...]", spatial + 2))) {
    return std::nullopt;
  }
  json::Reader& keys = layer.keys;
  ConvShape shape;
  shape.out = keys.NeedWhole("out_channels", {1, kMostChannels});
  shape.kernel = Wholes(keys, "kernel", kWindow, spatial);
  shape.stride = Wholes(keys, "stride", kWindow, spatial, 1);
  shape.dilation = Wholes(keys, "dilation", kWindow, spatial, 1);
  shape.groups = keys.WholeOr("groups", 1, {1, kMostChannels});
  shape.bias = keys.FlagOr("bias", true);
  if (const auto padding = keys.Member("padding").Text()) {
    if (*padding != "same") {
      keys.Fail("padding",
                "must be a number, a list of numbers or \"same\", not " + core::Quoted(*padding));
    }
    for (std::size_t i = 0; i < spatial; ++i) {
      shape.padding.push_back(shape.dilation[i] * (shape.kernel[i] - 1) / 2);
    }
  } else {
    shape.padding = Wholes(keys, "padding", {0, kLargestWindow}, spatial, 0);
  }
  if (keys.ok() && (layer.in()[1] % shape.groups != 0 || shape.out % shape.groups != 0)) {
    keys.Fail("groups",
              fmt::format("is {}, which must divide the {} channels that come in and the {} "
                          "that go out",
                          shape.groups, layer.in()[1], shape.out));
  }
  if (!keys.ok()) return std::nullopt;
  return shape;
}

}  // namespace

TensorId BuildConv(Layer& layer) {
  const auto shape = ReadConv(layer);
  if (!shape) return layer.x;
  Dims out = {layer.in()[0], shape->out};
  for (std::size_t i = 0; i < shape->kernel.size(); ++i) {
    out.push_back(WindowSteps(layer.in()[i + 2], shape->kernel[i], shape->stride[i],
                              shape->padding[i], shape->dilation[i]));
  }
  return layer.Fits(out) ? layer.builder.Conv(layer.x, *shape, layer.name) : layer.x;
}

TensorId BuildDeconv(Layer& layer) {
  const auto shape = ReadConv(layer);
  if (!shape) return layer.x;
  Dims out = {layer.in()[0], shape->out};
  for (std::size_t i = 0; i < shape->kernel.size(); ++i) {
    out.push_back((layer.in()[i + 2] - 1) * shape->stride[i] - 2 * shape->padding[i] +
                  shape->dilation[i] * (shape->kernel[i] - 1) + 1);
  }
  return layer.Fits(out) ? layer.builder.Deconv(layer.x, *shape, layer.name) : layer.x;
}

TensorId BuildPool(Layer& layer) {
  if (!layer.NeedsRank(3, 5, "3 to 5 dimensions, [batch, channels, space...]")) return layer.x;
  const std::size_t spatial = layer.in().size() - 2;
  const Dims kernel = Wholes(layer.keys, "kernel", kWindow, spatial);
  const Dims stride =
      layer.keys.Has("stride") ? Wholes(layer.keys, "stride", kWindow, spatial) : kernel;
  const Dims padding = Wholes(layer.keys, "padding", {0, kLargestWindow}, spatial, 0);
  if (!layer.keys.ok()) return layer.x;
  Dims out = {layer.in()[0], layer.in()[1]};
  std::int64_t window = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    out.push_back(WindowSteps(layer.in()[i + 2], kernel[i], stride[i], padding[i], 1));
    window *= kernel[i];
  }
  if (!layer.Fits(out)) return layer.x;
  return layer.builder.Pool(layer.x, layer.type, window, out, layer.name);
}

TensorId BuildGlobalPool(Layer& layer) {
  if (!layer.NeedsRank(3, 5, "3 to 5 dimensions, [batch, channels, space...]")) return layer.x;
  const Dims to = Wholes(layer.keys, "out", kWindow, layer.in().size() - 2, 1);
  Dims out = {layer.in()[0], layer.in()[1]};
  out.insert(out.end(), to.begin(), to.end());
  double window = 1;
  for (std::size_t i = 2; i < out.size(); ++i) {
    window *= static_cast<double>(std::max<std::int64_t>(1, layer.in()[i] / out[i]));
  }
  const auto whole = static_cast<std::int64_t>(std::min(window, static_cast<double>(kLargestDim)));
  return layer.builder.Pool(layer.x, layer.type, whole, out, layer.name);
}

TensorId BuildUpsample(Layer& layer) {
  if (!layer.NeedsRank(3, 5, "3 to 5 dimensions, [batch, channels, space...]")) return layer.x;
  const Dims scale = Wholes(layer.keys, "scale", kWindow, layer.in().size() - 2, 2);
  Dims out = layer.in();
  for (std::size_t i = 2; i < out.size(); ++i) out[i] *= scale[i - 2];
  if (!layer.Fits(out)) return layer.x;
  return layer.builder.Apply(Kind::kResample, "Upsample", {layer.x}, out, layer.name);
}

}  // namespace sharewell::graph::layers
