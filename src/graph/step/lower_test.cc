#include "graph/step/lower.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "graph/cost.h"
#include "graph/graph_file.h"
#include "graph/memory.h"
#include "graph/read.h"

namespace sharewell::graph {
namespace {

using testing::HasSubstr;
using As = ToldUse::As;

std::string Step(const std::string& operators, const std::string& facts = "\"batch\":8") {
  return "{\"sharewell_step\":1," + facts + ",\"operators\":[" + operators + "]}";
}

struct Lowered {
  Graph graph;
  Cost cost;
  Memory memory;
};
Lowered Of(const std::string& operators, const std::string& facts = "\"batch\":8") {
  auto graph = Read(Step(operators, facts), "step.json", {.named = {}, .any_batch = true});
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return {};
  Lowered out;
  out.graph = *std::move(graph);
  const Run run = RunOf(out.graph.told->step);
  const Flow flow = FlowOf(out.graph, run);
  out.cost = CostOf(out.graph, flow, run);
  out.memory = MemoryOf(out.graph, flow, run);
  return out;
}

std::size_t Count(const Graph& graph, Kind kind) {
  return static_cast<std::size_t>(std::count_if(graph.ops.begin(), graph.ops.end(),
                                                [&](const Op& op) { return op.kind == kind; }));
}

// A linear layer of 64 to 32, of a batch of 8; its backward pass.
const std::string kLinear = R"(
  {"op":"aten.t.default","pass":"forward","count":2,"in":[["w:f32",[32,64]]],"out":[["w:f32",[64,32]]],"view":true},
  {"op":"aten.addmm.default","pass":"forward","count":2,"in":[["w:f32",[32]],["f32",[8,64]],["w:f32",[64,32]]],
   "out":[["f32",[8,32]]]})";
const std::string kGradients = R"(,
  {"op":"aten.mm.default","pass":"backward","count":2,"in":[["f32",[8,32]],["w:f32",[32,64]]],"out":[["f32",[8,64]]]},
  {"op":"aten.mm.default","pass":"backward","count":2,"in":[["f32",[32,8]],["f32",[8,64]]],"out":[["f32",[32,64]]]},
  {"op":"aten.sum.dim_IntList","pass":"backward","count":2,"in":[["f32",[8,32]]],"out":[["f32",[1,32]]]})";

TEST(LowerStep, ProductsOfTheBackwardPassBelongToTheForwardOnes) {
  const Lowered step = Of(kLinear + kGradients);
  const double macs = 2.0 * 8 * 64 * 32;
  EXPECT_EQ(step.cost.macs, macs);
  EXPECT_EQ(step.cost.forward.flops, 2 * macs);
  EXPECT_EQ(step.cost.backward.flops, 4 * macs);
  EXPECT_EQ(step.cost.forward.kernels, 2);
  EXPECT_EQ(step.cost.backward.kernels, 4);
  EXPECT_EQ(step.cost.backward.calls, 2);           // autograd's nodes
  EXPECT_EQ(Count(step.graph, Kind::kMatMul), 2U);  // forward, and all of the backward pass
  EXPECT_EQ(Count(step.graph, Kind::kView), 0U);    // it is looked at by the product
  EXPECT_EQ(Count(step.graph, Kind::kReduction), 0U);
}

TEST(LowerStep, WhatIsFrozenHasNoGradient) {
  const std::string one = R"(,{"op":"aten.mm.default","pass":"backward","count":2,
    "in":[["f32",[8,32]],["p:f32",[32,64]]],"out":[["f32",[8,64]]]})";
  const Lowered step = Of(kLinear + one);
  EXPECT_EQ(step.cost.backward.flops, step.cost.forward.flops);
  const Lowered none = Of(kLinear);
  EXPECT_EQ(none.cost.backward.flops, 0);
  EXPECT_EQ(none.cost.backward.calls, 0);
}

TEST(LowerStep, WhatIsComputedAgainCounts) {
  const std::string again = R"(,{"op":"aten.addmm.default","pass":"backward","count":2,
    "in":[["w:f32",[32]],["f32",[8,64]],["w:f32",[64,32]]],"out":[["f32",[8,32]]]},
    {"op":"aten.relu.default","pass":"backward","count":2,"in":[["f32",[8,32]]],"out":[["f32",[8,32]]]})";
  const Lowered step = Of(kLinear + kGradients + again);
  EXPECT_EQ(step.cost.backward.flops, 3 * step.cost.forward.flops + 2 * 8 * 32 * 4);
  EXPECT_EQ(step.cost.macs, 2.0 * 8 * 64 * 32);  // forward, once
  EXPECT_EQ(step.cost.forward.calls, 4);         // the host calls the activation again
}

TEST(LowerStep, CopiesToHalfPrecisionComeWithTheProductThatReadsThem) {
  const std::string half = R"(
    {"op":"aten._to_copy.default","pass":"forward","in":[["w:f32",[32,64]]],"out":[["bf16",[32,64]]]},
    {"op":"aten._to_copy.default","pass":"forward","in":[["f32",[8,64]]],"out":[["bf16",[8,64]]]},
    {"op":"aten.mm.default","pass":"forward","in":[["bf16",[8,64]],["bf16",[64,32]]],"out":[["bf16",[8,32]]]})";
  const Lowered step = Of(half, R"("batch":8,"precision":"fp32","autocast":"bf16")");
  ASSERT_EQ(step.graph.ops.size(), 1U);
  EXPECT_EQ(step.cost.forward.kernels, 3);
  EXPECT_EQ(step.cost.forward.bytes, 2 * (8 * 64 + 64 * 32 + 8 * 32) + 6 * (8 * 64 + 64 * 32));
  EXPECT_TRUE(step.cost.ops[0].half);
  EXPECT_EQ(step.memory.copies, 2 * 32 * 64);
  EXPECT_EQ(step.graph.tensors[static_cast<std::size_t>(step.graph.ops[0].inputs[1])].role,
            Role::kWeight);
}

TEST(LowerStep, ConvolutionsByTheNamesOfEitherDevice) {
  for (const std::string name : {"convolution", "cudnn_convolution", "mkldnn_convolution"}) {
    const Lowered step = Of(
        "{\"op\":\"aten." + name +
        R"(.default","pass":"forward","in":[["f32",[8,4,9,9]],["w:f32",[6,2,3,3]]],"out":[["f32",[8,6,9,9]]]},
        {"op":"aten.convolution_backward.default","pass":"backward","in":[["f32",[8,6,9,9]],["f32",[8,4,9,9]],
         ["w:f32",[6,2,3,3]]],"out":[["f32",[6,2,3,3]]]})");
    const double macs = 8.0 * 6 * 81 * 2 * 9;
    EXPECT_EQ(step.cost.macs, macs) << name;
    EXPECT_EQ(step.cost.backward.flops, 2 * macs) << "the input wants no gradient";
    EXPECT_EQ(step.graph.ops[0].groups, 2);
    EXPECT_EQ(step.graph.ops[0].kernel, 9);
  }
}

TEST(LowerStep, FusedAttentionAndRecurrentLayers) {
  const Lowered step = Of(R"(
    {"op":"aten._scaled_dot_product_flash_attention.default","pass":"forward","count":3,
     "in":[["bf16",[8,4,16,8]],["bf16",[8,4,16,8]],["bf16",[8,4,16,8]]],"out":[["bf16",[8,4,16,8]]]},
    {"op":"aten._scaled_dot_product_flash_attention_backward.default","pass":"backward","count":3,
     "in":[["bf16",[8,4,16,8]],["bf16",[8,4,16,8]],["bf16",[8,4,16,8]],["bf16",[8,4,16,8]]],
     "out":[["bf16",[8,4,16,8]],["bf16",[8,4,16,8]],["bf16",[8,4,16,8]]]},
    {"op":"aten._cudnn_rnn.default","pass":"forward",
     "in":[["f32",[5,8,16]],{"list":[["w:f32",[64,16],2],["w:f32",[64],2]]},null,["f32",[1,8,16]]],
     "out":[["f32",[5,8,16]]],"arg":{"num_layers":1,"batch_first":false}})");
  const double attention = 2.0 * 8 * 4 * 16 * 16 * 8;
  EXPECT_EQ(step.cost.macs, 3 * attention + 5 * 8 * 2 * 64 * 16);
  EXPECT_EQ(step.cost.backward.flops, 3 * 5 * attention);
  EXPECT_EQ(step.graph.ops.back().steps, 5);
}

TEST(LowerStep, RecurrentLayersUnderAutocastAreGivenCopiesOfTheirWeights) {
  const Lowered step = Of(R"(
    {"op":"aten._cudnn_rnn.default","pass":"forward",
     "in":[["f16",[8,5,16]],{"list":[["f16",[1024,1],2],["f16",[64,1],2]]},["f16",[2176]],["f16",[1,8,16]]],
     "out":[["f16",[8,5,16]]],"arg":{"mode":2,"hidden_size":16,"num_layers":1,"batch_first":true}})");
  EXPECT_EQ(step.cost.macs, 5 * 8 * 2 * 64 * 16);
  EXPECT_EQ(step.graph.ops.back().steps, 5);
}

TEST(LowerStep, TheOptimizerIsWhatItsKernelsTouch) {
  const std::string relu =
      R"({"op":"aten.relu.default","pass":"forward","in":[["f32",[8,4]]],"out":[["f32",[8,4]]]},)";
  const Lowered lists = Of(relu + R"(
    {"op":"aten._foreach_mul_.Scalar","pass":"update","in":[{"list":[["f32",[1000],60]]}],"out":[]},
    {"op":"aten._foreach_add_.List","pass":"update","in":[{"list":[["w:f32",[1000],60]]},
     {"list":[["f32",[1000],60]]}],"out":[]})");
  EXPECT_EQ(lists.cost.update.bytes, 5 * 4 * 60'000);
  EXPECT_EQ(lists.cost.update.calls, 0);
  EXPECT_EQ(lists.cost.weights, 60);
  const Lowered fused = Of(relu + R"(
    {"op":"aten._fused_adamw_.default","pass":"update","in":[{"list":[["w:f32",[1000],60]]},
     {"list":[["f32",[1000],60]]},{"list":[["f32",[1000],60]]},{"list":[["f32",[1000],60]]}],"out":[]})");
  EXPECT_EQ(fused.cost.update.bytes, 7 * 4 * 60'000);  // all but the gradients are written
  const Lowered loop = Of(relu + R"(
    {"op":"aten.add_.Tensor","pass":"update","count":60,"in":[["w:f32",[1000]],["f32",[1000]]],
     "out":[["w:f32",[1000]]]})");
  EXPECT_EQ(loop.cost.update.bytes, 3 * 4 * 60'000);
  EXPECT_EQ(loop.cost.update.calls, 60);
  EXPECT_EQ(loop.cost.weights, 60);
  const Lowered on_cpu = Of(relu + R"(
    {"op":"aten.add_.Tensor","pass":"update","count":60,"in":[["w:f32",[1000]],["f32",[1000]]],
     "out":[["w:f32",[1000]]]})",
                            R"("batch":8,"device":"cpu")");
  EXPECT_EQ(on_cpu.cost.update.calls, 0);
  EXPECT_NEAR(on_cpu.cost.update.kernels, 1, 0.1);
}

TEST(LowerStep, MemoryIsWhatWasTold) {
  const std::string facts =
      R"("batch":8,"trainable":2048,"memory":{"parameters":8192,"gradients":8192,"optimizer":0,
         "peak":100000,"saved":20000})";
  const Lowered step = Of(kLinear + kGradients, facts);
  EXPECT_EQ(step.memory.weights, 8192);
  EXPECT_EQ(step.memory.gradients, 8192);
  EXPECT_EQ(step.memory.optimizer, 0);
  const double next_batch = 8 * 64 * 4;
  EXPECT_EQ(step.memory.Peak(), 100'000 + next_batch + step.memory.workspace);
  EXPECT_EQ(Params(step.graph), 2048);
  EXPECT_EQ(RunOf(step.graph.told->step).optimizer, Optimizer::kSgd);
}

TEST(LowerStep, TheLossCountsByWhatItReads) {
  const Lowered step = Of(kLinear + R"(,
    {"op":"aten._log_softmax.default","pass":"forward","in":[["f32",[8,32]]],"out":[["f32",[8,32]]]},
    {"op":"aten.nll_loss_forward.default","pass":"forward","in":[["f32",[8,32]],["i64",[8]]],"out":[["f32",[]]]},
    {"op":"aten._log_softmax_backward_data.default","pass":"backward","in":[["f32",[8,32]]],"out":[["f32",[8,32]]]})");
  EXPECT_EQ(step.cost.output_elements, 8 * 32);
  EXPECT_EQ(Count(step.graph, Kind::kSoftmax), 0U);
  EXPECT_EQ(step.graph.inputs.size(), 2U);  // the batch and its labels
}

TEST(LowerStep, WhatIsNotKnownCountsByItsBytes) {
  const Lowered step = Of(kLinear + R"(,{"op":"mine.strange.default","pass":"forward","count":2,
    "in":[["f32",[100]]],"out":[["f32",[100]]]})");
  EXPECT_EQ(step.cost.uncosted, 1);
  EXPECT_THAT(step.graph.ops.back().why_unknown, HasSubstr("bytes"));
  EXPECT_EQ(step.cost.ops.back().forward.bytes, 2 * 800);
}

TEST(LowerStep, IsWrittenAsItWasTold) {
  const Lowered step = Of(kLinear + kGradients);
  const auto again = ReadGraphFile(WriteGraph(step.graph), "kept", {.batch = 8, .named = {}});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->told->step, step.graph.told->step);
  EXPECT_EQ(again->ops.size(), step.graph.ops.size());
}

TEST(LowerStep, IsOfOneBatch) {
  const auto other = Read(Step(kLinear), "step.json", {.batch = 16, .named = {}});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("was told at batch 8, not at 16"));
  const auto empty = Read(Step(""), "step.json", {.batch = 8, .named = {}});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("no operator of a forward pass"));
  EXPECT_EQ(Read(Step(kLinear, "\"python\":\"3\""), "s", {.batch = 5, .named = {}})->batch, 5);
}

}  // namespace
}  // namespace sharewell::graph
