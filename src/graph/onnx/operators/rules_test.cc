// Shapes, kinds and work of single operators: one line each.
#include "graph/onnx/operators/rules.h"

#include <gmock/gmock.h>

#include "graph/onnx/onnx.h"
#include "graph/onnx/test_model.h"

namespace sharewell::graph {
namespace {

using onnx::Batch;
using onnx::TestAttribute;
using onnx::TestDims;
using onnx::TestGraph;
using onnx::TestModel;
using onnx::test::Int;
using onnx::test::Ints;
using onnx::test::Text;
using testing::ElementsAre;

// One operator over float operands, and numbers that it reads behind them.
struct Case {
  std::string type;
  std::vector<Dims> operands;
  std::vector<TestAttribute> attributes = {};
  std::vector<Dims> numbers = {};
  std::size_t outputs = 1;
  std::string domain = "";
  bool weights = true;  // operands but the first are initializers
};

Graph Read(const Case& one) {
  TestModel model;
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < one.operands.size(); ++i) {
    inputs.push_back("x" + std::to_string(i));
    if (i > 0 && one.weights) {
      model.graph().Weight(inputs.back(), one.operands[i]);
      continue;
    }
    TestDims dims;
    for (const std::int64_t dim : one.operands[i]) dims.push_back(dim);
    model.graph().Input(inputs.back(), dims);
  }
  for (std::size_t i = 0; i < one.numbers.size(); ++i) {
    inputs.push_back("n" + std::to_string(i));
    model.graph().Numbers(inputs.back(), one.numbers[i]);
  }
  for (std::size_t i = 0; i < one.outputs; ++i) outputs.push_back("y" + std::to_string(i));
  model.graph().Node(one.type, inputs, outputs, one.attributes, one.domain);
  for (const auto& output : outputs) model.graph().Output(output);
  const std::int64_t batch =
      one.operands.empty() || one.operands[0].empty() ? 1 : one.operands[0][0];
  auto graph = ReadOnnx(model.Bytes(), one.type, Batch(std::max<std::int64_t>(batch, 1)));
  if (!graph) ADD_FAILURE() << graph.error().message;
  return graph.value_or(Graph{});
}

Dims Shape(const Case& one, std::size_t output = 0) {
  const Graph graph = Read(one);
  if (graph.outputs.size() <= output) return {-1};
  const auto& dims = graph.tensors[static_cast<std::size_t>(graph.outputs[output])].dims;
  if (!dims) ADD_FAILURE() << one.type << ": " << graph.ops.back().why_unknown;
  return dims.value_or(Dims{-1});
}

double Macs(const Case& one) { return Read(one).ops.back().macs; }
Kind KindOf(const Case& one) { return Read(one).ops.back().kind; }

TEST(PointwiseRules, StretchLikeNumpy) {
  EXPECT_THAT(Shape({"Add", {{2, 3, 4}, {4}}}), ElementsAre(2, 3, 4));
  EXPECT_THAT(Shape({"Mul", {{3, 1}, {2, 1, 5}}}), ElementsAre(2, 3, 5));
  EXPECT_THAT(Shape({"Where", {{2, 1}, {1, 3}, {2, 3}}}), ElementsAre(2, 3));
  EXPECT_EQ(KindOf({"Add", {{2, 3}, {4}}}), Kind::kUnknown);
}

TEST(PointwiseRules, KindsAsTheyRun) {
  EXPECT_EQ(KindOf({"Relu", {{2, 3}}}), Kind::kActivation);
  EXPECT_EQ(KindOf({"Softmax", {{2, 3}}}), Kind::kSoftmax);
  EXPECT_EQ(KindOf({"Dropout", {{2, 3}}}), Kind::kDropout);
  EXPECT_EQ(KindOf({"LayerNormalization", {{2, 3}, {3}, {3}}}), Kind::kNorm);
  EXPECT_EQ(
      KindOf(
          {"SkipLayerNormalization", {{2, 4, 3}, {2, 4, 3}, {3}, {3}}, {}, {}, 1, "com.microsoft"}),
      Kind::kNorm);
  EXPECT_EQ(KindOf({"FastGelu", {{2, 3}}, {}, {}, 1, "com.microsoft"}), Kind::kActivation);
  EXPECT_EQ(KindOf({"Cast", {{2, 3}}, {Int("to", 10)}}), Kind::kElementwise);
}

TEST(ReductionRules, AxesFromAttributeOrInput) {
  EXPECT_THAT(Shape({"ReduceMean", {{2, 3, 4}}, {Ints("axes", {1}), Int("keepdims", 0)}}),
              ElementsAre(2, 4));
  EXPECT_THAT(Shape({"ReduceSum", {{2, 3, 4}}, {}, {{-1}}}), ElementsAre(2, 3, 1));
  EXPECT_THAT(Shape({"ReduceMax", {{2, 3}}}), ElementsAre(1, 1));
  EXPECT_THAT(Shape({"ArgMax", {{2, 3, 4}}, {Int("axis", -1), Int("keepdims", 0)}}),
              ElementsAre(2, 3));
  EXPECT_THAT(Shape({"TopK", {{2, 9}}, {}, {{4}}, 2}, 1), ElementsAre(2, 4));
}

TEST(ReductionRules, FourierTransformsOfRealAndComplexValues) {
  EXPECT_THAT(Shape({"DFT", {{2, 8, 16, 1}}, {Int("onesided", 1)}}), ElementsAre(2, 8, 9, 2));
  EXPECT_THAT(Shape({"DFT", {{2, 8, 16, 1}}, {Int("onesided", 1)}, {{32}, {2}}}),
              ElementsAre(2, 8, 17, 2));
  EXPECT_THAT(Shape({"DFT", {{2, 8, 32, 2}}, {Int("inverse", 1)}, {{32}, {-2}}}),
              ElementsAre(2, 8, 32, 2));
  EXPECT_THAT(Shape({"DFT", {{2, 8, 1}}, {Int("axis", 1)}}), ElementsAre(2, 8, 2));
  EXPECT_EQ(KindOf({"DFT", {{2, 8, 1}}, {Int("axis", 1)}}), Kind::kReduction);
}

TEST(WindowRules, Convolutions) {
  const Case plain = {"Conv",
                      {{2, 3, 224, 224}, {64, 3, 7, 7}},
                      {Ints("strides", {2, 2}), Ints("pads", {3, 3, 3, 3})}};
  EXPECT_THAT(Shape(plain), ElementsAre(2, 64, 112, 112));
  EXPECT_EQ(Macs(plain), 2.0 * 64 * 112 * 112 * 3 * 49);
  EXPECT_EQ(Read(plain).ops[0].kernel, 49);
  const Case depthwise = {"Conv", {{1, 8, 10, 10}, {8, 1, 3, 3}}, {Int("group", 8)}};
  EXPECT_THAT(Shape(depthwise), ElementsAre(1, 8, 8, 8));
  EXPECT_EQ(Macs(depthwise), 8.0 * 64 * 9);
  EXPECT_EQ(Read(depthwise).ops[0].groups, 8);
  EXPECT_THAT(
      Shape(
          {"Conv", {{1, 3, 9}, {4, 3, 3}}, {Text("auto_pad", "SAME_UPPER"), Ints("strides", {2})}}),
      ElementsAre(1, 4, 5));
  EXPECT_THAT(Shape({"Conv", {{1, 3, 9, 9, 9}, {4, 3, 3, 3, 3}}, {Ints("dilations", {2, 2, 2})}}),
              ElementsAre(1, 4, 5, 5, 5));
  const Case up = {"ConvTranspose",
                   {{2, 16, 7, 7}, {16, 8, 4, 4}},
                   {Ints("strides", {2, 2}), Ints("pads", {1, 1, 1, 1})}};
  EXPECT_THAT(Shape(up), ElementsAre(2, 8, 14, 14));
  EXPECT_EQ(Macs(up), 2.0 * 16 * 49 * 8 * 16);
}

TEST(WindowRules, Pools) {
  EXPECT_THAT(
      Shape({"MaxPool", {{1, 4, 7, 7}}, {Ints("kernel_shape", {2, 2}), Ints("strides", {2, 2})}}),
      ElementsAre(1, 4, 3, 3));
  EXPECT_THAT(Shape({"MaxPool",
                     {{1, 4, 7, 7}},
                     {Ints("kernel_shape", {2, 2}), Ints("strides", {2, 2}), Int("ceil_mode", 1)}}),
              ElementsAre(1, 4, 4, 4));
  EXPECT_THAT(Shape({"GlobalAveragePool", {{2, 4, 7, 7}}}), ElementsAre(2, 4, 1, 1));
  EXPECT_EQ(Read({"GlobalAveragePool", {{2, 4, 7, 7}}}).ops[0].kernel, 49);
}

TEST(WindowRules, Resizing) {
  TestModel model;
  model.graph()
      .Input("x", TestDims(1, 3, 7, 7))
      .Numbers("sizes", {1, 3, 14, 21})
      .Node("Resize", {"x", "", "", "sizes"}, {"y"})
      .Output("y");
  const auto graph = ReadOnnx(model.Bytes(), "resize", {});
  ASSERT_TRUE(graph);
  EXPECT_EQ(*graph->tensors[static_cast<std::size_t>(graph->outputs[0])].dims,
            (Dims{1, 3, 14, 21}));
  EXPECT_EQ(graph->ops[0].kind, Kind::kResample);
  EXPECT_THAT(Shape({"GridSample", {{2, 3, 9, 9}, {2, 5, 6, 2}}}), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Shape({"DepthToSpace", {{2, 12, 4, 4}}, {Int("blocksize", 2)}}),
              ElementsAre(2, 3, 8, 8));
}

TEST(ProductRules, MatrixProducts) {
  EXPECT_THAT(Shape({"MatMul", {{2, 8, 5, 3}, {2, 1, 3, 4}}}), ElementsAre(2, 8, 5, 4));
  EXPECT_EQ(Macs({"MatMul", {{2, 8, 5, 3}, {2, 1, 3, 4}}}), 2.0 * 8 * 5 * 3 * 4);
  EXPECT_THAT(Shape({"MatMul", {{3}, {3, 4}}}), ElementsAre(4));
  EXPECT_THAT(Shape({"MatMul", {{2, 3}, {3}}}), ElementsAre(2));
  EXPECT_THAT(Shape({"Gemm", {{5, 3}, {4, 3}, {4}}, {Int("transB", 1)}}), ElementsAre(5, 4));
  EXPECT_EQ(Macs({"Gemm", {{5, 3}, {4, 3}, {4}}, {Int("transB", 1)}}), 60);
  EXPECT_THAT(
      Shape({"FusedMatMul", {{2, 5, 3}, {2, 4, 3}}, {Int("transB", 1)}, {}, 1, "com.microsoft"}),
      ElementsAre(2, 5, 4));
}

TEST(ProductRules, Einsum) {
  const Case scores = {
      "Einsum", {{2, 8, 5, 16}, {2, 8, 7, 16}}, {Text("equation", "bhid, bhjd -> bhij")}};
  EXPECT_THAT(Shape(scores), ElementsAre(2, 8, 5, 7));
  EXPECT_EQ(Macs(scores), 2.0 * 8 * 5 * 7 * 16);
  EXPECT_THAT(Shape({"Einsum", {{2, 5, 16}, {16, 3}}, {Text("equation", "...i,ij->...j")}}),
              ElementsAre(2, 5, 3));
  EXPECT_THAT(Shape({"Einsum", {{2, 3}, {3, 4}}, {Text("equation", "ij,jk")}}), ElementsAre(2, 4));
  EXPECT_EQ(Macs({"Einsum", {{2, 3}}, {Text("equation", "ij->ji")}}), 0);
}

TEST(ProductRules, RecurrentLayers) {
  const Case lstm = {"LSTM",
                     {{20, 4, 8}, {2, 64, 8}, {2, 64, 16}},
                     {Int("hidden_size", 16), Text("direction", "bidirectional")},
                     {},
                     3};
  EXPECT_THAT(Shape(lstm, 0), ElementsAre(20, 2, 4, 16));
  EXPECT_THAT(Shape(lstm, 2), ElementsAre(2, 4, 16));
  EXPECT_EQ(Macs(lstm), 20.0 * 4 * 2 * 4 * 16 * (8 + 16));
  EXPECT_EQ(Read(lstm).ops[0].steps, 20);
  EXPECT_EQ(Macs({"GRU", {{20, 4, 8}, {1, 48, 8}, {1, 48, 16}}, {Int("hidden_size", 16)}}),
            20.0 * 4 * 3 * 16 * (8 + 16));
}

TEST(ProductRules, Attention) {
  const Case four = {"Attention", {{2, 8, 5, 16}, {2, 8, 7, 16}, {2, 8, 7, 32}}};
  EXPECT_THAT(Shape(four), ElementsAre(2, 8, 5, 32));
  EXPECT_EQ(Macs(four), 2.0 * 8 * 5 * 7 * (16 + 32));
  EXPECT_EQ(KindOf(four), Kind::kAttention);
  const Case grouped = {"Attention",
                        {{2, 5, 128}, {2, 7, 32}, {2, 7, 32}},
                        {Int("q_num_heads", 8), Int("kv_num_heads", 2)}};
  EXPECT_THAT(Shape(grouped), ElementsAre(2, 5, 128));
  EXPECT_EQ(Macs(grouped), 2.0 * 8 * 5 * 7 * 32);
  const Case multi = {
      "MultiHeadAttention", {{2, 5, 128}, {2, 7, 128}, {2, 7, 128}}, {Int("num_heads", 8)}, {}, 1,
      "com.microsoft"};
  EXPECT_THAT(Shape(multi), ElementsAre(2, 5, 128));
  EXPECT_EQ(Macs(multi), 2.0 * 8 * 5 * 7 * 32);
}

TEST(LayoutRules, Views) {
  EXPECT_THAT(Shape({"Reshape", {{2, 3, 4}}, {}, {{0, -1}}}), ElementsAre(2, 12));
  EXPECT_THAT(Shape({"Flatten", {{2, 3, 4}}}), ElementsAre(2, 12));
  EXPECT_THAT(Shape({"Squeeze", {{2, 1, 4, 1}}, {}, {{-1}}}), ElementsAre(2, 1, 4));
  EXPECT_THAT(Shape({"Squeeze", {{2, 1, 4, 1}}}), ElementsAre(2, 4));
  EXPECT_THAT(Shape({"Unsqueeze", {{2, 4}}, {Ints("axes", {0, 3})}}), ElementsAre(1, 2, 4, 1));
  EXPECT_THAT(Shape({"Transpose", {{2, 3, 4}}}), ElementsAre(4, 3, 2));
  EXPECT_THAT(Shape({"Transpose", {{2, 3, 4}}, {Ints("perm", {0, 2, 1})}}), ElementsAre(2, 4, 3));
  EXPECT_THAT(Shape({"Split", {{2, 7}}, {Int("axis", 1), Int("num_outputs", 2)}, {}, 2}, 1),
              ElementsAre(2, 3));
  EXPECT_THAT(Shape({"Split", {{2, 7}}, {Int("axis", 1)}, {{5, 2}}, 2}, 0), ElementsAre(2, 5));
  EXPECT_THAT(Shape({"Expand", {{2, 1, 4}}, {}, {{3, 1}}}), ElementsAre(2, 3, 4));
  for (const char* view : {"Flatten", "Transpose", "Identity", "Squeeze"}) {
    EXPECT_EQ(KindOf({view, {{2, 3}}}), Kind::kView) << view;
  }
}

TEST(LayoutRules, Slices) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return Case{"Slice", {{2, 9}}, {}, {{start}, {end}, {1}, {step}}};
  };
  EXPECT_THAT(Shape(slice(2, 5, 1)), ElementsAre(2, 3));
  EXPECT_THAT(Shape(slice(-3, most, 1)), ElementsAre(2, 3));
  EXPECT_THAT(Shape(slice(least, -2, 1)), ElementsAre(2, 7));
  EXPECT_THAT(Shape(slice(0, most, 2)), ElementsAre(2, 5));
  EXPECT_THAT(Shape(slice(most, least, -1)), ElementsAre(2, 9));
  EXPECT_THAT(Shape(slice(5, 2, 1)), ElementsAre(2, 0));
  EXPECT_EQ(KindOf(slice(2, 5, 1)), Kind::kView);
  EXPECT_EQ(KindOf(slice(8, 0, -1)), Kind::kMove);
  EXPECT_THAT(
      Shape({"Slice", {{2, 9}}, {Ints("starts", {3}), Ints("ends", {6}), Ints("axes", {1})}}),
      ElementsAre(2, 3));
}

TEST(LayoutRules, Copies) {
  EXPECT_THAT(Shape({"Concat", {{2, 3}, {2, 4}}, {Int("axis", 1)}}), ElementsAre(2, 7));
  EXPECT_THAT(Shape({"Pad", {{2, 3}}, {}, {{0, 1, 0, 2}}}), ElementsAre(2, 6));
  EXPECT_THAT(Shape({"Tile", {{2, 3}}, {}, {{2, 3}}}), ElementsAre(4, 9));
  EXPECT_THAT(Shape({"GatherND", {{2, 3, 4}}, {}, {{0, 1}}}), ElementsAre(4));
  EXPECT_EQ(KindOf({"Concat", {{2, 3}, {2, 4}}, {Int("axis", 1)}}), Kind::kMove);
}

TEST(LayoutRules, GatherIsAnEmbeddingASelectionOrACopy) {
  const auto read = [](bool table, bool one) {
    TestModel model;
    model.graph().Input("ids", TestDims("batch", 7), TestGraph::kInt64);
    if (table) {
      model.graph().Weight("w", {100, 16});
    } else {
      model.graph().Input("w", TestDims("batch", 16));
    }
    model.graph().Number("zero", 0).Node("Gather", {"w", one ? "zero" : "ids"}, {"y"}).Output("y");
    auto graph = ReadOnnx(model.Bytes(), "gather", Batch(3));
    return graph ? graph->ops[0].kind : Kind::kUnknown;
  };
  EXPECT_EQ(read(true, false), Kind::kEmbedding);
  EXPECT_EQ(read(false, false), Kind::kMove);
  EXPECT_EQ(read(false, true), Kind::kView);
}

// Numbers known beforehand, through an operator, into a Reshape's target.
struct Folded {
  std::vector<std::pair<std::string, Dims>> numbers;
  std::string type;
  std::vector<std::string> inputs;
  std::vector<TestAttribute> attributes = {};
};

Dims Fold(const Folded& folded) {
  TestModel model;
  for (const auto& [name, values] : folded.numbers) model.graph().Numbers(name, values);
  model.graph().Number("zero", 0).Number("one", 1).Number("nine", 9);
  // The result's numbers are the shape that is made of them.
  model.graph()
      .Input("x", TestDims("batch"))
      .Node(folded.type, folded.inputs, {"shape"}, folded.attributes)
      .Node("ConstantOfShape", {"shape"}, {"y"})
      .Output("y");
  const auto graph = ReadOnnx(model.Bytes(), folded.type, {});
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return {-1};
  }
  return graph->tensors[static_cast<std::size_t>(graph->outputs[0])].dims.value_or(Dims{-1});
}

TEST(Folding, Arithmetic) {
  const std::vector<std::pair<std::string, Dims>> ab = {{"a", {7, 8}}, {"b", {2, 3}}};
  EXPECT_THAT(Fold({ab, "Add", {"a", "b"}}), ElementsAre(9, 11));
  EXPECT_THAT(Fold({ab, "Sub", {"a", "b"}}), ElementsAre(5, 5));
  EXPECT_THAT(Fold({ab, "Mul", {"a", "b"}}), ElementsAre(14, 24));
  EXPECT_THAT(Fold({ab, "Div", {"a", "b"}}), ElementsAre(3, 2));
  EXPECT_THAT(Fold({ab, "Mod", {"a", "b"}}), ElementsAre(1, 2));
  EXPECT_THAT(Fold({ab, "Pow", {"b", "b"}}), ElementsAre(4, 27));
  EXPECT_THAT(Fold({ab, "Max", {"a", "b", "nine"}}), ElementsAre(9, 9));
  EXPECT_THAT(Fold({ab, "Min", {"a", "b"}}), ElementsAre(2, 3));
  EXPECT_THAT(Fold({ab, "Greater", {"a", "b"}}), ElementsAre(1, 1));
  EXPECT_THAT(Fold({{{"a", {-7}}}, "Abs", {"a"}}), ElementsAre(7));
  EXPECT_THAT(Fold({{{"a", {-7}}}, "Neg", {"a"}}), ElementsAre(7));
  EXPECT_THAT(Fold({{{"a", {1, 0}}, {"b", {4, 5}}}, "Where", {"a", "b", "nine"}}),
              ElementsAre(4, 9));
}

TEST(Folding, Layout) {
  const std::vector<std::pair<std::string, Dims>> a = {
      {"a", {5, 6, 7}}, {"i", {2, 0}}, {"s", {1}}, {"e", {3}}};
  EXPECT_THAT(Fold({a, "Gather", {"a", "i"}}), ElementsAre(7, 5));
  EXPECT_THAT(Fold({a, "Slice", {"a", "s", "e"}}), ElementsAre(6, 7));
  EXPECT_THAT(Fold({a, "Concat", {"a", "i"}, {Int("axis", 0)}}), ElementsAre(5, 6, 7, 2, 0));
  EXPECT_THAT(Fold({a, "Tile", {"i", "e"}}), ElementsAre(2, 0, 2, 0, 2, 0));
  EXPECT_THAT(Fold({a, "Expand", {"nine", "i"}}), ElementsAre());
  EXPECT_THAT(Fold({a, "Range", {"one", "nine", "one"}}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Fold({a, "CumSum", {"a", "zero"}}), ElementsAre(5, 11, 18));
  EXPECT_THAT(Fold({{{"a", {0, 3, 0, 4}}, {"s", {-1}}}, "Reshape", {"a", "s"}}),
              ElementsAre(0, 3, 0, 4));
  EXPECT_THAT(Fold({a, "ReduceProd", {"a"}}), ElementsAre(210));
  EXPECT_THAT(Fold({a, "ReduceSum", {"a"}}), ElementsAre(18));
}

TEST(Folding, DivisionByZeroAndOverflowStayUnknownOrWrap) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(Fold({{{"a", {7}}, {"b", {0}}}, "Div", {"a", "b"}}), ElementsAre(-1));
  EXPECT_THAT(Fold({{{"a", {least}}, {"b", {-1}}}, "Div", {"a", "b"}}), ElementsAre(-1));
  EXPECT_THAT(Fold({{{"a", {least}}, {"b", {2}}}, "Mul", {"a", "b"}}), ElementsAre(0));
}

}  // namespace
}  // namespace sharewell::graph
