#include "predict/way.h"

#include <algorithm>
#include <cstdint>

namespace sharewell::predict {
namespace {

// Set by 88 told steps of eight architectures (data/h200/ways.csv, ways-2.csv).
//
// Channels innermost: convolutions need no copies into that order and back, and a batch norm no
// longer walks a channel a block.
constexpr double kChannelsLastConv = 0.7, kChannelsLastNorm = 0.2;
// torch.compile: pointwise operators and reductions become one kernel with their neighbours, and
// copies to half precision vanish in them.
constexpr double kFused = 0.25, kFusedCasts = 0.85;
// cuDNN normalises and convolves fp16, where PyTorch's own kernels do bf16.
constexpr double kFp16Norm = 0.55, kFp16Depthwise = 0.7;
// Products by a matrix of few columns, as adapters have, are short.
constexpr double kThinProduct = 0.45;
constexpr std::int64_t kThin = 32, kWide = 128;

bool IsConv(OpClass of) {
  return of == OpClass::kStem || of == OpClass::kPointwise || of == OpClass::kConv ||
         of == OpClass::kGrouped;
}

// What a compiler makes one kernel of.
bool IsFused(OpClass of) {
  switch (of) {
    case OpClass::kNorm:
    case OpClass::kActivation:
    case OpClass::kElementwise:
    case OpClass::kSoftmax:
    case OpClass::kMove:
      return true;
    default:
      return false;
  }
}

// One side of its matrix of weights is short, as adapters have it, and the other is not.
bool IsThin(const graph::Graph& graph, const graph::Op& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](graph::TensorId id) {
    if (id == graph::kAbsent) return false;
    const graph::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    if (tensor.role != graph::Role::kWeight || !tensor.dims || tensor.dims->size() != 2)
      return false;
    const auto [least, most] = std::minmax((*tensor.dims)[0], (*tensor.dims)[1]);
    return least <= kThin && most >= kWide;
  });
}

}  // namespace

bool ImagesChannelsLast(const graph::Graph& graph) {
  const auto first = std::find_if(graph.ops.begin(), graph.ops.end(), [](const graph::Op& op) {
    return op.kind == graph::Kind::kConv && op.told && op.told->as == graph::ToldUse::As::kForward;
  });
  return first != graph.ops.end() && first->told->channels_last;
}

bool WrittenChannelsLast(const graph::Graph& graph, const graph::Op& op, bool images_last,
                         bool compiled) {
  if (!op.told) return false;
  if (images_last && op.told->channels_last) return true;
  if (!compiled || op.inputs.empty() || op.inputs[0] == graph::kAbsent) return false;
  const graph::Tensor& in = graph.tensors[static_cast<std::size_t>(op.inputs[0])];
  return in.dims && in.dims->size() == 4;
}

double KernelsTake(const graph::Graph& graph, const graph::Op& op, OpClass of,
                   graph::Precision precision, bool channels_last, bool compiled) {
  const bool batch_norm = of == OpClass::kNorm && graph::IsBatchNorm(op);
  double take = 1;
  if (compiled && IsFused(of)) return kFused;
  if (compiled && of == OpClass::kMatMul) take *= kFusedCasts;
  if (channels_last && IsConv(of)) take *= kChannelsLastConv;
  if (channels_last && batch_norm) return kChannelsLastNorm;
  if (op.told && precision == graph::Precision::kFp16) {
    if (batch_norm) take *= kFp16Norm;
    if (of == OpClass::kDepthwise) take *= kFp16Depthwise;
  }
  if (op.told && of == OpClass::kMatMul && IsThin(graph, op)) take *= kThinProduct;
  return take;
}

}  // namespace sharewell::predict
