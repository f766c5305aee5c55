// Told steps beside the ONNX graphs of the same models: what is priced must be the same.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "graph/read.h"
#include "graph/step/lower.h"
#include "graph/step/told_step.h"
#include "predict/base.h"
#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

std::string File(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

graph::Graph ReadGraph(const std::string& path, std::int64_t batch) {
  auto graph = graph::Read(File(path), path, {.batch = batch, .named = {}});
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : graph::Graph{};
}

struct Pair {
  std::string told, onnx;
  std::int64_t batch;
  bool fused = true;  // no kernel is taken apart on the CPU, where it was told
};

const Pair kPairs[] = {
    {"resnet18_b8.json", "tv_resnet18_224.onnx", 8},
    {"resnet50_b16.json", "tv_resnet50_224.onnx", 16},
    {"enc_256x2_b4.json", "enc_256x2.onnx", 4, false},
};

// The base's sums of both, on one line each, for whoever changes what is counted.
std::string LineOf(const Base& base) {
  std::string line = fmt::format(
      "macs {:.4g} flops {:.4g} {:.4g} bytes {:.4g} {:.4g} {:.4g} kernels {:.0f} {:.0f} {:.0f} "
      "calls {:.0f} views {:.0f} params {:.4g} weights {:.0f} in {:.4g} {:.4g} act {:.4g} gpu "
      "{:.4g} host {:.4g} mem {:.4g}",
      base.cost.macs, base.cost.forward.flops, base.cost.backward.flops, base.cost.forward.bytes,
      base.cost.backward.bytes, base.cost.update.bytes, base.cost.forward.kernels,
      base.cost.backward.kernels, base.cost.update.kernels, base.calls, base.views,
      base.cost.params, base.cost.weights, base.float_inputs, base.other_inputs,
      base.memory.activations, base.gpu, base.host, base.memory.Peak());
  for (std::size_t c = 0; c < kOpClasses; ++c) {
    if (base.kernels[c] == 0) continue;
    line += fmt::format("\n   {} flops {:.4g} bytes {:.4g} kernels {:.0f}", kOpClassNames[c],
                        base.flops[c], base.bytes[c], base.kernels[c]);
  }
  return line;
}

TEST(Told, IsPricedAsTheOnnxGraphOfTheSameModel) {
  const core::GpuModel gpu = TestGpu();
  for (const Pair& pair : kPairs) {
    const graph::Graph told = ReadGraph("tests/fixtures/told/" + pair.told, pair.batch);
    const graph::Graph onnx = ReadGraph("data/h200/onnx/" + pair.onnx, pair.batch);
    ASSERT_TRUE(told.told);
    Query query = TestQuery(onnx, gpu, graph::RunOf(told.told->step).precision, 4);
    query.run.optimizer = graph::RunOf(told.told->step).optimizer;
    const Base theirs = BaseOf(query);
    query.graph = &told;
    const Base ours = BaseOf(query);
    SCOPED_TRACE(pair.told + "\n told " + LineOf(ours) + "\n onnx " + LineOf(theirs));
    EXPECT_NEAR(ours.cost.macs / theirs.cost.macs, 1, 0.01);
    EXPECT_NEAR(ours.cost.params / theirs.cost.params, 1, 0.01);
    EXPECT_NEAR(ours.cost.backward.flops / theirs.cost.backward.flops, 1, 0.05);
    EXPECT_NEAR(ours.cost.update.bytes / theirs.cost.update.bytes, 1, 0.05);
    EXPECT_NEAR(ours.cost.input_bytes / theirs.cost.input_bytes, 1, 0.05);
    if (!pair.fused) continue;
    EXPECT_NEAR(ours.cost.weights, theirs.cost.weights, 1);
    EXPECT_NEAR(ours.gpu / theirs.gpu, 1, 0.02);
    EXPECT_NEAR(ours.host / theirs.host, 1, 0.05);
    EXPECT_NEAR(ours.calls / theirs.calls, 1, 0.05);
    EXPECT_NEAR(ours.cost.forward.kernels / theirs.cost.forward.kernels, 1, 0.02);
    EXPECT_NEAR(ours.cost.backward.kernels / theirs.cost.backward.kernels, 1, 0.02);
    for (std::size_t c = 0; c < kOpClasses; ++c) {
      EXPECT_NEAR(ours.kernels[c], theirs.kernels[c], 1) << kOpClassNames[c];
    }
  }
}

graph::ToldStep ResNet18() {
  auto step = graph::ReadToldStep(File("tests/fixtures/told/resnet18_b8.json"));
  EXPECT_TRUE(step) << step.error().message;
  return step ? *std::move(step) : graph::ToldStep{};
}

Base BaseOfStep(const graph::ToldStep& step) {
  auto graph = graph::LowerStep(step, "a step", {.batch = 1, .named = {}, .any_batch = true});
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return {};
  const core::GpuModel gpu = TestGpu();
  Query query = TestQuery(*graph, gpu, graph::Precision::kBf16, 4);
  return BaseOf(query);
}

// Bars: ResNet-50 on an H200 takes 0.57 of the GPU's time with its channels innermost, and 0.44
// compiled (data/h200/ways.csv).
TEST(Told, ChannelsInnermostAndCompilersSaveGpuTime) {
  const Base plain = BaseOfStep(ResNet18());
  graph::ToldStep step = ResNet18();
  for (graph::ToldOperator& op : step.operators) op.channels_last = true;
  const Base channels_last = BaseOfStep(step);
  EXPECT_GT(channels_last.gpu, 0.45 * plain.gpu);
  EXPECT_LT(channels_last.gpu, 0.75 * plain.gpu);
  EXPECT_NEAR(channels_last.host, plain.host, 1e-9);

  step = ResNet18();
  step.compiled = true;
  const Base compiled = BaseOfStep(step);
  EXPECT_LT(compiled.gpu, 0.9 * channels_last.gpu);
  EXPECT_LT(compiled.host, 0.8 * plain.host);
}

TEST(Told, CheckpointingKeepsTheHostBusy) {
  graph::ToldStep step = ResNet18();
  const Base plain = BaseOfStep(step);
  step.checkpointing = true;
  EXPECT_GT(BaseOfStep(step).host, 1.4 * plain.host);
}

TEST(Told, WeightsOneAfterTheOtherAreShortKernels) {
  graph::ToldStep step = ResNet18();
  step.device = "cuda";
  const Base lists = BaseOfStep(step);
  graph::ToldOperator one;
  one.op = "aten.add_.Tensor";
  one.pass = graph::ToldPass::kUpdate;
  one.count = 1000;
  graph::ToldTensor weight;
  weight.role = graph::ToldRole::kTrained;
  weight.dims = {64};
  one.in = {{.is_list = false, .tensors = {weight}}};
  step.operators.push_back(one);
  const double each = (BaseOfStep(step).gpu - lists.gpu) / 1000;
  EXPECT_GT(each, 1e-6);
  EXPECT_LT(each, 3e-6);
}

}  // namespace
}  // namespace sharewell::predict
