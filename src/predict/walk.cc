#include "predict/walk.h"

#include <algorithm>
#include <cmath>

#include "graph/flow.h"

namespace sharewell::predict {
namespace {

constexpr double kPlainTflops = 67;  // of the H200, where paces were measured

double Product(const graph::Dims& dims, std::size_t from) {
  double out = 1;
  for (std::size_t i = from; i < dims.size(); ++i) out *= static_cast<double>(dims[i]);
  return out;
}

// One block a channel walks over all samples of it. cuDNN does full precision, PyTorch half.
std::array<double, 2> BatchNorm(const Walked& walked) {
  constexpr double kHalfForward = 0.95e-9, kHalfBackward = 1.8e-9;
  constexpr double kFullForward = 0.52e-9, kFullBackward = 1.48e-9;
  // Two dimensions: other kernels, which share a channel among blocks.
  if (walked.input.size() < 3) return {};
  const double elements = Product(walked.input, 2) * static_cast<double>(walked.input[0]);
  return {elements * (walked.half ? kHalfForward : kFullForward),
          elements * (walked.half ? kHalfBackward : kFullBackward)};
}

// A thread an output element and for its gradients; the weight's gradient has a block a channel and
// place of the window, which takes whole warps for each sample.
std::array<double, 2> Depthwise(const Walked& walked, double plain_tflops) {
  constexpr double kOutput = 3e-12, kOutputTap = 0.68e-12;
  constexpr double kInput = 13e-12, kInputTap = 0.7e-12, kWeightTap = 1.5e-12;
  constexpr double kFewestPlaces = 48;
  if (walked.input.size() < 3 || walked.output.size() < 3) return {};
  const double slower = kPlainTflops / std::max(plain_tflops, 0.1);
  const double outputs = Product(walked.output, 0), inputs = Product(walked.input, 0);
  const double lines =
      static_cast<double>(walked.output[0]) * static_cast<double>(walked.output[1]);
  const double walks = lines * walked.window * std::max(kFewestPlaces, Product(walked.output, 2));
  return {outputs * (kOutput + kOutputTap * walked.window) * slower,
          (inputs * (kInput + kInputTap * walked.window) + walks * kWeightTap) * slower};
}

// Tiles of the output, and of the input's gradient.
std::array<double, 2> Tiles(const Walked& walked, double plain_tflops) {
  constexpr double kTile = 128, kSeconds = 1.2e-6, kMultiprocessors = 132;
  if (walked.input.size() < 2 || walked.output.size() < 2) return {};
  const bool channels_first = walked.of == OpClass::kPointwise;
  const auto columns = [&](const graph::Dims& dims) {
    return static_cast<double>(channels_first ? dims[1] : dims.back());
  };
  const double slower = kPlainTflops / std::max(plain_tflops, 0.1);
  const auto seconds = [&](double rows, double of) {
    return std::ceil(rows / kTile) * std::ceil(of / kTile) / kMultiprocessors * kSeconds * slower;
  };
  const double in = columns(walked.input), out = columns(walked.output);
  return {seconds(Product(walked.output, 0) / std::max(out, 1.0), out),
          seconds(Product(walked.input, 0) / std::max(in, 1.0), in)};
}

}  // namespace

std::array<double, 2> WalkOf(const Walked& walked, double plain_tflops) {
  if (walked.batch_norm && walked.of == OpClass::kNorm) return BatchNorm(walked);
  if (walked.of == OpClass::kDepthwise && !walked.transposed) {
    return Depthwise(walked, plain_tflops);
  }
  if (walked.weighted && (walked.of == OpClass::kMatMul || walked.of == OpClass::kPointwise)) {
    return Tiles(walked, plain_tflops);
  }
  return {};
}

std::array<double, 2> WalkOf(const graph::Graph& graph, const graph::Op& op, OpClass of,
                             const graph::Run& run, const core::GpuModel& gpu) {
  const bool product = of == OpClass::kMatMul || of == OpClass::kPointwise;
  if (of != OpClass::kNorm && of != OpClass::kDepthwise && !product) return {};
  if (op.inputs.empty() || op.inputs[0] == graph::kAbsent || op.outputs.empty() ||
      op.outputs[0] == graph::kAbsent) {
    return {};
  }
  const graph::Tensor& in = graph.tensors[static_cast<std::size_t>(op.inputs[0])];
  const graph::Tensor& out = graph.tensors[static_cast<std::size_t>(op.outputs[0])];
  if (!in.dims || !out.dims || in.role == graph::Role::kWeight) return {};
  Walked walked;
  walked.of = of;
  walked.batch_norm = graph::IsBatchNorm(op);
  walked.transposed = op.kind == graph::Kind::kDeconv;
  walked.weighted = product && op.inputs.size() > 1 && graph::IsWeight(graph, op.inputs[1]);
  walked.half = run.mixed();
  walked.input = *in.dims;
  walked.output = *out.dims;
  walked.window = static_cast<double>(op.kernel);
  std::array<double, 2> walk = WalkOf(walked, gpu.fp32_tflops);
  if (!run.training) walk[1] = 0;
  return walk;
}

}  // namespace sharewell::predict
