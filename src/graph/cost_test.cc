#include "graph/cost.h"

#include <gtest/gtest.h>

#include "graph/memory.h"

namespace sharewell::graph {
namespace {

Op Made(Kind kind, std::string type, std::vector<TensorId> inputs, TensorId output,
        double macs = 0) {
  Op op;
  op.kind = kind;
  op.type = std::move(type);
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.macs = macs;
  return op;
}

// x (8x64) -> matmul with w (64x32) -> relu -> matmul with v (32x10)
Graph TwoLayers() {
  Graph graph;
  graph.batch = 8;
  graph.tensors = {{"x", DType::kFloat, Role::kInput, Dims{8, 64}},
                   {"w", DType::kFloat, Role::kWeight, Dims{64, 32}},
                   {"h", DType::kFloat, Role::kActivation, Dims{8, 32}},
                   {"r", DType::kFloat, Role::kActivation, Dims{8, 32}},
                   {"v", DType::kFloat, Role::kWeight, Dims{32, 10}},
                   {"y", DType::kFloat, Role::kActivation, Dims{8, 10}}};
  graph.inputs = {0};
  graph.outputs = {5};
  graph.ops = {Made(Kind::kMatMul, "MatMul", {0, 1}, 2, 8 * 64 * 32),
               Made(Kind::kActivation, "Relu", {2}, 3),
               Made(Kind::kMatMul, "MatMul", {3, 4}, 5, 8 * 32 * 10)};
  return graph;
}

Cost CostUnder(const Graph& graph, const Run& run) {
  return CostOf(graph, FlowOf(graph, run), run);
}

TEST(Cost, AMultiplyAccumulateIsTwoFlops) {
  const Graph graph = TwoLayers();
  const Cost cost = CostUnder(graph, {});
  EXPECT_EQ(cost.macs, 8 * 64 * 32 + 8 * 32 * 10);
  EXPECT_EQ(cost.ops[0].forward.flops, 2.0 * 8 * 64 * 32);
  EXPECT_EQ(cost.params, 64 * 32 + 32 * 10);
}

TEST(Cost, TheFirstLayerNeedsNoGradientOfTheData) {
  const Cost cost = CostUnder(TwoLayers(), {});
  EXPECT_EQ(cost.ops[0].backward.flops, cost.ops[0].forward.flops);      // the weight's alone
  EXPECT_EQ(cost.ops[2].backward.flops, 2 * cost.ops[2].forward.flops);  // both operands'
}

TEST(Cost, InferenceHasNeitherBackwardNorUpdate) {
  const Cost cost = CostUnder(TwoLayers(), {.training = false});
  EXPECT_EQ(cost.backward.flops, 0);
  EXPECT_EQ(cost.update.bytes, 0);
}

TEST(Cost, AdamMovesMoreThanMomentumAndThatMoreThanPlainSgd) {
  const Graph graph = TwoLayers();
  const double plain = CostUnder(graph, {.optimizer = Optimizer::kSgd}).update.bytes;
  const double momentum = CostUnder(graph, {.optimizer = Optimizer::kMomentum}).update.bytes;
  const double adam = CostUnder(graph, {.optimizer = Optimizer::kAdam}).update.bytes;
  EXPECT_LT(plain, momentum);
  EXPECT_LT(momentum, adam);
}

TEST(Flow, MixedPrecisionCopiesDataAndWeightsOnceEach) {
  const Graph graph = TwoLayers();
  const Flow flow = FlowOf(graph, {.precision = Precision::kBf16});
  EXPECT_EQ(flow.casts[0], 1);  // the data is fp32
  EXPECT_EQ(flow.weight_casts[0], 1);
  EXPECT_EQ(flow.casts[2], 0);  // the first product left halves behind
  EXPECT_EQ(flow.width[2], 2);
  EXPECT_EQ(flow.width[3], 2);  // relu keeps what it is given
}

// x (8x4x16) times the cosine of t (4x16): a rotary embedding's table, among the file's weights.
Graph Turned() {
  Graph graph;
  graph.batch = 8;
  graph.tensors = {{"t", DType::kFloat, Role::kWeight, Dims{4, 16}},
                   {"c", DType::kFloat, Role::kActivation, Dims{4, 16}},
                   {"x", DType::kFloat, Role::kInput, Dims{8, 4, 16}},
                   {"y", DType::kFloat, Role::kActivation, Dims{8, 4, 16}}};
  graph.inputs = {2};
  graph.outputs = {3};
  graph.ops = {Made(Kind::kActivation, "Cos", {0}, 1), Made(Kind::kElementwise, "Mul", {2, 1}, 3)};
  return graph;
}

TEST(Flow, WavesThatAreTheSameForAllSamplesAreNotTrained) {
  const Graph graph = Turned();
  EXPECT_EQ(FlowOf(graph, {}).needs_grad, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(CostUnder(graph, {}).backward.flops, 0);
}

TEST(Flow, WavesOfWhatAModelMakesOfASampleAre) {
  Graph graph = TwoLayers();
  graph.ops[1].type = "Sin";
  EXPECT_TRUE(FlowOf(graph, {}).needs_grad[3]);
}

TEST(Flow, AViewSharesItsMemory) {
  Graph graph = TwoLayers();
  graph.tensors.push_back({"z", DType::kFloat, Role::kActivation, Dims{80}});
  graph.ops.push_back(Made(Kind::kView, "Reshape", {5}, 6));
  const Flow flow = FlowOf(graph, {});
  EXPECT_EQ(flow.storage[6], 5);
}

TEST(Memory, TrainingKeepsWhatTheBackwardPassReads) {
  const Graph graph = TwoLayers();
  const struct Run run;
  const Memory memory = MemoryOf(graph, FlowOf(graph, run), run);
  EXPECT_EQ(memory.weights, (64 * 32 + 320) * 4);
  EXPECT_EQ(memory.gradients, memory.weights);
  EXPECT_EQ(memory.optimizer, memory.weights);  // momentum: one number a weight
  // Kept: relu's output, which is the second product's input, and y, which nobody frees.
  EXPECT_EQ(memory.saved, (8 * 32) * 4);
  EXPECT_EQ(memory.activations, (8 * 32 * 2 + 8 * 10) * 4);
}

TEST(Memory, InferenceKeepsNothing) {
  const Graph graph = TwoLayers();
  const struct Run run { .training = false };
  const Memory memory = MemoryOf(graph, FlowOf(graph, run), run);
  EXPECT_EQ(memory.saved, 0);
  EXPECT_EQ(memory.gradients, 0);
  EXPECT_EQ(memory.transient, 8 * 32 * 4 * 2);  // h and r at once
}

TEST(Memory, GrowsWithTheBatchAndNeverShrinksBelowTheWeights) {
  Graph graph = TwoLayers();
  const struct Run run;
  const double small = MemoryOf(graph, FlowOf(graph, run), run).Peak();
  for (Tensor& tensor : graph.tensors) {
    if (tensor.role != Role::kWeight) (*tensor.dims)[0] *= 64;
  }
  EXPECT_GT(MemoryOf(graph, FlowOf(graph, run), run).Peak(), small);
}

TEST(RunWords, AreRead) {
  EXPECT_EQ(ParsePrecision("BF16"), Precision::kBf16);
  EXPECT_EQ(ParseOptimizer("adam"), Optimizer::kAdam);
  EXPECT_EQ(NameOf(*ParseOptimizer("sgd")), "sgd");
  EXPECT_NE(ParsePrecision("int4").error().message.find("fp32"), std::string::npos);
}

}  // namespace
}  // namespace sharewell::graph
