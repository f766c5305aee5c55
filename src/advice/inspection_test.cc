#include "advice/inspection.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "advice/model_file.h"
#include "platform/files/test_folder.h"

namespace sharewell::advice {
namespace {

using ::testing::HasSubstr;

// 2 channels of 4 by 4 pixels; 3 x 3 windows without an edge: 2 by 2 remain.
constexpr const char* kFourLayers =
    R"({"inputs":[{"name":"x","shape":["batch",2,4,4]}],"layers":[
        {"type":"conv2d","name":"first","out_channels":8,"kernel":3},{"type":"relu"},{"type":"flatten"},
        {"type":"linear","out":10}]})";
constexpr double kConvMacs = 8 * 2 * 2 * 2 * 9;
constexpr double kLinearMacs = 32 * 10;
constexpr double kParams = 8 * 2 * 9 + 8 + 32 * 10 + 10;

graph::Graph Net(std::int64_t batch) {
  const platform::TestFolder folder;
  auto graph = ReadModel(folder.Write("net.json", kFourLayers), {.batch = batch, .named = {}});
  EXPECT_TRUE(graph) << graph.error().message;
  return *std::move(graph);
}

TEST(Inspect, CountsArithmeticASampleAndASteps) {
  const Inspection in = Inspect(Net(16), {}, "net.json");
  EXPECT_EQ(in.macs_per_sample, kConvMacs + kLinearMacs);
  EXPECT_EQ(in.params, kParams);
  EXPECT_EQ(in.nodes, 4U);
  EXPECT_EQ(in.batch, 16);
  EXPECT_EQ(in.input_bytes, 16 * 2 * 16 * 4);
  EXPECT_GE(in.flops_forward, 2 * 16 * in.macs_per_sample);
  EXPECT_GT(in.flops_backward, in.flops_forward);
  EXPECT_TRUE(in.uncosted.empty());
  EXPECT_EQ(in.file, "net.json");
  EXPECT_EQ(in.format, "layer list");
}

TEST(Inspect, MacsASampleDoNotChangeWithTheBatch) {
  EXPECT_EQ(Inspect(Net(1), {}, "").macs_per_sample, Inspect(Net(64), {}, "").macs_per_sample);
}

TEST(Inspect, ThePeakIsNoLessThanWhatStays) {
  const Inspection in = Inspect(Net(16), {}, "");
  EXPECT_EQ(in.weights, 4 * kParams);
  EXPECT_EQ(in.gradients, 4 * kParams);
  EXPECT_EQ(in.optimizer_states, 4 * kParams);
  EXPECT_GE(in.peak, in.weights + in.gradients + in.optimizer_states + in.saved);
}

TEST(Inspect, InferenceHasNoBackwardPassNoGradientsAndNoOptimizer) {
  graph::Run run;
  run.training = false;
  const Inspection in = Inspect(Net(16), run, "");
  EXPECT_EQ(in.optimizer, "");
  EXPECT_EQ(in.flops_backward + in.flops_update + in.bytes_backward + in.bytes_update, 0);
  EXPECT_EQ(in.gradients + in.optimizer_states, 0);
  EXPECT_GT(in.flops_forward, 0);
  EXPECT_LT(in.peak, Inspect(Net(16), {}, "").peak);
  EXPECT_LT(in.kernels, Inspect(Net(16), {}, "").kernels);
}

TEST(Inspect, LayersThatWorkAreListedWithTheirOwnCost) {
  const Inspection in = Inspect(Net(16), {}, "");
  ASSERT_EQ(in.layers.size(), 3U) << "a view does no work";
  EXPECT_EQ(in.layers[0].name, "first");
  EXPECT_EQ(in.layers[0].shape, "16x8x2x2");
  EXPECT_EQ(in.layers[0].kind, "conv");
  EXPECT_EQ(in.layers[0].macs, 16 * kConvMacs);
  EXPECT_EQ(in.layers[0].params, 8 * 2 * 9 + 8);
  double forward = 0;
  for (const LayerRow& layer : in.layers) forward += layer.flops_forward;
  EXPECT_DOUBLE_EQ(forward, in.flops_forward) << "the parts make the whole";
  EXPECT_EQ(in.counts.at("conv"), 1U);
  EXPECT_EQ(in.counts.at("view"), 1U);
}

TEST(Inspect, WhatCouldNotBeCostedIsListedWithTheReason) {
  graph::Graph graph = Net(1);
  graph.ops[1].kind = graph::Kind::kUnknown;
  graph.ops[1].type = "Custom";
  graph.ops[1].why_unknown = "nobody knows it";
  const Inspection in = Inspect(graph, {}, "");
  ASSERT_EQ(in.uncosted.size(), 1U);
  EXPECT_EQ(in.uncosted[0].type, "Custom");
  EXPECT_EQ(in.uncosted[0].why, "nobody knows it");
  EXPECT_EQ(in.layers.size(), 2U);
}

TEST(ReadModel, AFolderStandsForTheConfigInIt) {
  const platform::TestFolder folder;
  folder.Write("config.json", R"({"model_type":"bert","hidden_size":64,"num_hidden_layers":2,
      "num_attention_heads":2,"intermediate_size":128,"vocab_size":100,"max_position_embeddings":64})");
  const auto graph = ReadModel(folder.path(), {});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->format, HasSubstr("bert"));
}

TEST(ReadModel, AFolderWithoutAConfigIsRefusedWithWhatToGive) {
  const platform::TestFolder folder;
  const auto graph = ReadModel(folder.path(), {});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("is a folder without a config.json"));
}

TEST(ReadModel, ErrorsNameTheFile) {
  const platform::TestFolder folder;
  const auto bad = ReadModel(folder.Write("bad.onnx", "hello"), {});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr(folder.Path("bad.onnx")));
  const auto gone = ReadModel(folder.Path("gone.onnx"), {});
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("no such file"));
}

}  // namespace
}  // namespace sharewell::advice
