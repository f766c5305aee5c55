#include "predict/walk.h"

#include <gtest/gtest.h>

#include "predict/layout.h"
#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

constexpr double kH200 = 67;

Walked Norm(graph::Dims dims, bool half = true) {
  Walked walked;
  walked.of = OpClass::kNorm;
  walked.batch_norm = true;
  walked.half = half;
  walked.input = walked.output = std::move(dims);
  return walked;
}

Walked Depthwise(graph::Dims input, graph::Dims output, double window) {
  Walked walked;
  walked.of = OpClass::kDepthwise;
  walked.input = std::move(input);
  walked.output = std::move(output);
  walked.window = window;
  return walked;
}

// Measured on an H200 (data/h200/operators.csv), forward and backward.
TEST(Walk, ABatchNormOfFewChannelsTakesAsLongAsOneOfMany) {
  const auto few = WalkOf(Norm({128, 8, 112, 112}), kH200);
  const auto many = WalkOf(Norm({128, 96, 112, 112}), kH200);
  EXPECT_EQ(few, many);
  EXPECT_NEAR(many[0], 1.64e-3, 0.2e-3);
  EXPECT_NEAR(many[1], 2.92e-3, 0.1e-3);
  const auto full = WalkOf(Norm({64, 64, 112, 112}, false), kH200);
  EXPECT_NEAR(full[0], 0.46e-3, 0.05e-3);
  EXPECT_NEAR(full[1], 1.19e-3, 0.05e-3);
}

TEST(Walk, NormsOfRowsAndOtherNormsAreNotWalked) {
  EXPECT_EQ(WalkOf(Norm({25088, 128}), kH200)[0], 0);
  Walked layer = Norm({64, 96, 56, 56});
  layer.batch_norm = false;
  EXPECT_EQ(WalkOf(layer, kH200)[0], 0);
}

TEST(Walk, DepthwiseConvolutionsGoByTheirWindow) {
  const auto three = WalkOf(Depthwise({128, 144, 56, 56}, {128, 144, 56, 56}, 9), kH200);
  EXPECT_NEAR(three[0], 0.564e-3, 0.1e-3);
  EXPECT_NEAR(three[1], 1.83e-3, 0.2e-3);
  const auto seven = WalkOf(Depthwise({64, 96, 56, 56}, {64, 96, 56, 56}, 49), kH200);
  EXPECT_NEAR(seven[0], 0.69e-3, 0.1e-3);
  EXPECT_NEAR(seven[1], 2.25e-3, 0.3e-3);
  // A stride leaves four times as many gradients of the input as outputs.
  const auto stride = WalkOf(Depthwise({64, 96, 112, 112}, {64, 96, 56, 56}, 9), kH200);
  EXPECT_NEAR(stride[1], 1.57e-3, 0.3e-3);
}

TEST(Walk, TheWeightsGradientOfTinyImagesTakesAWarpForEachSample) {
  const auto tiny = WalkOf(Depthwise({256, 1152, 1, 1}, {256, 1152, 1, 1}, 25), kH200);
  EXPECT_NEAR(tiny[1], 0.589e-3, 0.1e-3);
}

TEST(Walk, ASlowerGpuTakesLongerOverWhatFillsIt) {
  const Walked walked = Depthwise({64, 96, 56, 56}, {64, 96, 56, 56}, 9);
  EXPECT_DOUBLE_EQ(WalkOf(walked, kH200 / 2)[0], 2 * WalkOf(walked, kH200)[0]);
}

// Talking heads mix four maps by a weight of four by four: 88 us forward (data/h200/operators.csv,
// 32x196x196x4 in tf32), where bandwidth alone would say 8.
TEST(Walk, AProductTakesATileAtATimeHoweverNarrowItIs) {
  Walked heads;
  heads.of = OpClass::kMatMul;
  heads.weighted = true;
  heads.input = heads.output = {32, 196, 196, 4};
  const auto narrow = WalkOf(heads, kH200);
  EXPECT_NEAR(narrow[0], 88e-6, 5e-6);
  EXPECT_EQ(narrow[0], narrow[1]);
  heads.output = {32, 196, 196, 256};
  EXPECT_DOUBLE_EQ(WalkOf(heads, kH200)[0], 2 * narrow[0]);
  EXPECT_EQ(WalkOf(heads, kH200)[1], narrow[1]) << "the input's gradient is as narrow as before";
  heads.weighted = false;
  EXPECT_EQ(WalkOf(heads, kH200)[0], 0) << "many small products have tiles of other sizes";
}

TEST(Walk, AConvolutionOfOnePlaceIsAProductOfItsChannels) {
  Walked walked;
  walked.of = OpClass::kPointwise;
  walked.weighted = true;
  walked.input = {64, 24, 56, 56};
  walked.output = {64, 144, 56, 56};
  const auto walk = WalkOf(walked, kH200);
  EXPECT_DOUBLE_EQ(walk[0], 2 * walk[1]);
}

TEST(Layout, ATransposedViewHasItsChannelsInnermostAndSoHasWhatIsMadeOfIt) {
  graph::Graph graph;
  const auto tensor = [&](graph::Dims dims) {
    graph.tensors.push_back({"t", graph::DType::kFloat, graph::Role::kActivation, std::move(dims)});
    return static_cast<graph::TensorId>(graph.tensors.size() - 1);
  };
  const auto op = [&](graph::Kind kind, const char* type, graph::TensorId in, graph::TensorId out) {
    graph::Op made;
    made.kind = kind;
    made.type = type;
    made.inputs = {in};
    made.outputs = {out};
    graph.ops.push_back(made);
  };
  const auto a = tensor({2, 56, 28, 96}), b = tensor({2, 96, 56, 28}), c = tensor({2, 96, 56, 28});
  const auto d = tensor({2, 56, 28, 96});
  op(graph::Kind::kView, "Transpose", a, b);
  op(graph::Kind::kActivation, "Relu", b, c);
  op(graph::Kind::kView, "Transpose", c, d);
  EXPECT_EQ(ChannelsLast(graph), (std::vector<bool>{false, true, true, false}));
}

}  // namespace
}  // namespace sharewell::predict
