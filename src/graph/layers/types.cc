#include <fmt/format.h>

#include <algorithm>

#include "graph/layers/layer.h"

namespace sharewell::graph::layers {
namespace {

TensorId BuildActivation(Layer& layer) {
  return layer.builder.Same(Kind::kActivation, layer.type, layer.x, layer.name);
}
TensorId BuildSoftmax(Layer& layer) {
  return layer.builder.Same(Kind::kSoftmax, "Softmax", layer.x, layer.name);
}
TensorId BuildDropout(Layer& layer) {
  if (layer.keys.NumberOr("p", 0.5, {0, 1}) == 0) return layer.x;
  return layer.builder.Same(Kind::kDropout, "Dropout", layer.x, layer.name);
}

constexpr std::string_view kConv = "out_channels kernel stride padding dilation groups bias";
constexpr std::string_view kPool = "kernel stride padding";
constexpr std::string_view kRecurrent = "hidden layers bidirectional dropout";

constexpr Type kTypes[] = {
    {"conv1d", kConv, BuildConv},
    {"conv2d", kConv, BuildConv},
    {"conv3d", kConv, BuildConv},
    {"deconv1d", kConv, BuildDeconv},
    {"deconv2d", kConv, BuildDeconv},
    {"deconv3d", kConv, BuildDeconv},
    {"maxpool", kPool, BuildPool},
    {"avgpool", kPool, BuildPool},
    {"globalpool", "out", BuildGlobalPool},
    {"upsample", "scale", BuildUpsample},
    {"linear", "out bias", BuildLinear},
    {"embedding", "rows dim", BuildEmbedding},
    {"lstm", kRecurrent, BuildRecurrent},
    {"gru", kRecurrent, BuildRecurrent},
    {"rnn", kRecurrent, BuildRecurrent},
    {"attention", "heads kv_heads window bias with", BuildAttention},
    {"batchnorm", "affine", BuildNorm},
    {"instancenorm", "affine", BuildNorm},
    {"layernorm", "affine", BuildNorm},
    {"rmsnorm", "affine", BuildNorm},
    {"groupnorm", "groups affine", BuildGroupNorm},
    {"relu", "", BuildActivation},
    {"relu6", "", BuildActivation},
    {"leaky_relu", "", BuildActivation},
    {"elu", "", BuildActivation},
    {"gelu", "", BuildActivation},
    {"silu", "", BuildActivation},
    {"mish", "", BuildActivation},
    {"sigmoid", "", BuildActivation},
    {"tanh", "", BuildActivation},
    {"hardswish", "", BuildActivation},
    {"hardsigmoid", "", BuildActivation},
    {"softplus", "", BuildActivation},
    {"softmax", "", BuildSoftmax},
    {"dropout", "p", BuildDropout},
    {"add", "with", BuildPointwise},
    {"mul", "with", BuildPointwise},
    {"concat", "with dim", BuildConcat},
    {"mean", "dims", BuildMean},
    {"flatten", "start", BuildFlatten},
    {"reshape", "shape", BuildReshape},
    {"permute", "order", BuildPermute},
    {"select", "dim", BuildSelect},
};

}  // namespace

std::span<const Type> Types() { return kTypes; }

std::string DimsText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

bool Layer::NeedsRank(std::size_t least, std::size_t most, std::string_view as) {
  if (in().size() >= least && in().size() <= most) return true;
  keys.Fail(fmt::format("needs an input of {}, but gets {}", as, DimsText(in())));
  return false;
}

bool Layer::Fits(const Dims& out) {
  if (out.size() > kMostDims) {
    keys.Fail(fmt::format("would have {} dimensions; we read up to {}", out.size(), kMostDims));
    return false;
  }
  const bool fits = std::all_of(out.begin(), out.end(),
                                [](std::int64_t dim) { return dim >= 1 && dim <= kLargestDim; });
  if (!fits) {
    keys.Fail(fmt::format("would turn {} into {}, which no tensor can be; check its sizes",
                          DimsText(in()), DimsText(out)));
  }
  return fits;
}

}  // namespace sharewell::graph::layers
