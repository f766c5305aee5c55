#include "graph/onnx/onnx.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "graph/flow.h"
#include "graph/onnx/test_model.h"

namespace sharewell::graph {
namespace {

using onnx::Batch;
using onnx::TestDims;
using onnx::TestGraph;
using onnx::TestModel;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Good files and bad ones stand in one file: all look at them with these few functions.
const Tensor& Named(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  static const Tensor none;
  return none;
}

Dims ShapeOf(const Graph& graph, const std::string& name) {
  const auto& dims = Named(graph, name).dims;
  if (!dims) ADD_FAILURE() << name << " has no shape";
  return dims.value_or(Dims{-1});
}

const Op& Making(const Graph& graph, const std::string& name) {
  for (const Op& op : graph.ops) {
    for (const TensorId id : op.outputs) {
      if (id != kAbsent && graph.tensors[static_cast<std::size_t>(id)].name == name) return op;
    }
  }
  ADD_FAILURE() << "nothing makes " << name;
  static const Op none;
  return none;
}

Graph Read(TestModel model, const Binding& binding = {}) {
  auto graph = ReadOnnx(model.Bytes(), "test.onnx", binding);
  if (!graph) ADD_FAILURE() << graph.error().message;
  return graph.value_or(Graph{});
}

std::string ErrorOf(const std::string& bytes, const Binding& binding = {}) {
  const auto graph = ReadOnnx(bytes, "test.onnx", binding);
  if (graph) return "it was read";
  EXPECT_EQ(graph.error().kind, core::ErrorKind::kUsage);
  return graph.error().message;
}

// A linear layer over what the inputs hold.
TestModel Linear(const TestDims& x) {
  TestModel model("pytorch");
  model.graph().Input("x", x).Weight("w", {3, 5}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  return model;
}

TEST(ReadOnnx, GivesOperatorsTensorsAndWork) {
  const Graph graph = Read(Linear(TestDims("batch", 3)), Batch(4));
  EXPECT_EQ(graph.format, "ONNX opset 18");
  EXPECT_EQ(graph.producer, "pytorch 1.0");
  EXPECT_EQ(graph.batch, 4);
  ASSERT_THAT(graph.ops, SizeIs(1));
  EXPECT_EQ(graph.ops[0].kind, Kind::kMatMul);
  EXPECT_EQ(graph.ops[0].macs, 4 * 3 * 5);
  EXPECT_EQ(Named(graph, "w").role, Role::kWeight);
  EXPECT_EQ(Named(graph, "x").role, Role::kInput);
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(4, 5));
  ASSERT_THAT(graph.outputs, SizeIs(1));
}

TEST(ReadOnnx, TheLeadingOpenDimensionIsTheBatchWhateverItsName) {
  for (const TestDims& dims : {TestDims("batch", 3), TestDims("unk__123", 3), TestDims("", 3),
                               TestDims(-1, 3), TestDims(0, 3)}) {
    EXPECT_THAT(ShapeOf(Read(Linear(dims), Batch(6)), "y"), ElementsAre(6, 5));
  }
}

TEST(ReadOnnx, ADimensionNamedBatchIsTheBatchWhereverItStands) {
  TestModel model;
  model.graph().Input("x", TestDims("seq", "batch", 3)).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ShapeOf(Read(model, {.batch = 4, .named = {{"seq", 9}}}), "y"), ElementsAre(9, 4, 3));
}

TEST(ReadOnnx, OtherOpenDimensionsMustBeBound) {
  TestModel model;
  model.graph().Input("x", TestDims("batch", "seq", "")).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorOf(model.Bytes()), AllOf(HasSubstr("test.onnx"), HasSubstr("'seq', 'x.2'"),
                                            HasSubstr("--bind seq=128 --bind x.2=128")));
  const Graph graph = Read(model, {.batch = 2, .named = {{"seq", 7}, {"x.2", 3}}});
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(2, 7, 3));
}

TEST(ReadOnnx, ANameThatTheFileHasNotIsRefused) {
  TestModel model;
  model.graph().Input("x", TestDims("batch", "seq")).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorOf(model.Bytes(), {.named = {{"sequ", 3}}}), HasSubstr("did you mean 'seq'?"));
  EXPECT_THAT(ErrorOf(Linear(TestDims(1, 3)).Bytes(), {.named = {{"seq", 3}}}),
              HasSubstr("every dimension of the inputs is fixed"));
  EXPECT_THAT(ErrorOf(model.Bytes(), {.named = {{"seq", 0}}}), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf(model.Bytes(), {.batch = 0, .named = {{"seq", 1}}}),
              HasSubstr("the batch is 0"));
}

TEST(ReadOnnx, AFixedBatchIsReadAnewAtTheOneAskedFor) {
  TestModel model = Linear(TestDims(1, 3));
  model.graph().Declared("y", TestDims(1, 5));  // must not win over what is inferred
  const Graph graph = Read(model, Batch(32));
  EXPECT_EQ(graph.batch, 32);
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(32, 5));
  EXPECT_EQ(graph.ops[0].macs, 32 * 15);
}

TEST(ReadOnnx, AFixedBatchSpelledOutInAReshapeIsScaled) {
  TestModel model;
  model.graph()
      .Input("x", TestDims(2, 6))
      .Numbers("shape", {2, 2, 3})
      .Node("Reshape", {"x", "shape"}, {"r"})
      .Weight("w", {3, 5})
      .Node("MatMul", {"r", "w"}, {"y"})
      .Output("y");
  const Graph graph = Read(model, Batch(8));
  EXPECT_THAT(ShapeOf(graph, "x"), ElementsAre(8, 6));
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(8, 2, 5));
  EXPECT_THAT(ShapeOf(graph, "w"), ElementsAre(3, 5));
  EXPECT_EQ(Making(graph, "y").macs, 8 * 2 * 3 * 5);
}

TEST(ReadOnnx, InitializersAmongTheInputsAreWeights) {
  TestModel model = Linear(TestDims("batch", 3));
  model.graph().Input("w", TestDims(3, 5));
  const Graph graph = Read(model, Batch(2));
  EXPECT_THAT(graph.inputs, SizeIs(1));
  EXPECT_EQ(Named(graph, "w").role, Role::kWeight);
}

TEST(ReadOnnx, OnlyWhatIsTrainedIsAWeight) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 4, 8, 8))
      .Weight("scale", {4})
      .Weight("bias", {4})
      .Weight("mean", {4})
      .Weight("var", {4})
      .Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"n"})
      .Reals("half", {0.5F}, {})
      .Node("Mul", {"n", "half"}, {"m"})
      .Reals("scales", {1, 1, 2, 2}, {4})
      .Node("Resize", {"m", "", "scales"}, {"y"})
      .Output("y");
  const Graph graph = Read(model);
  EXPECT_EQ(Named(graph, "scale").role, Role::kWeight);
  EXPECT_EQ(Named(graph, "bias").role, Role::kWeight);
  for (const char* constant : {"mean", "var", "half", "scales"}) {
    EXPECT_EQ(Named(graph, constant).role, Role::kConstant) << constant;
  }
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(1, 4, 16, 16));
}

TEST(ReadOnnx, WeightsThatTheFileSaysAreFrozenAreNotTrained) {
  TestModel model;
  model.Note("author", "w").Note("sharewell.frozen", "other.w target.w");
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", {3, 5})
      .Node("MatMul", {"x", "w"}, {"y"})
      .Weight("target.w", {3, 5})
      .Node("MatMul", {"x", "target.w"}, {"z"})
      .Output("y")
      .Output("z");
  const Graph graph = Read(model);
  EXPECT_EQ(Named(graph, "w").role, Role::kWeight);
  EXPECT_EQ(Named(graph, "target.w").role, Role::kConstant);
  EXPECT_EQ(Params(graph), 15);
}

TEST(ReadOnnx, WeightsInConstantNodesAreWeightsToo) {
  const std::string weight = [] {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_int64(1, 3);
    writer.add_int64(1, 5);
    writer.add_int32(2, TestGraph::kFloat);
    writer.add_bytes(9, std::string(60, '\0'));
    return tensor;
  }();
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Node("Constant", {}, {"w"},
            {onnx::test::Attribute("value", 4, [&](auto& w) { w.add_message(5, weight); })})
      .Node("MatMul", {"x", "w"}, {"y"})
      .Output("y");
  const Graph graph = Read(model);
  EXPECT_EQ(Named(graph, "w").role, Role::kWeight);
  EXPECT_EQ(Making(graph, "w").kind, Kind::kHost);
}

TEST(ReadOnnx, NodesOutOfOrderAreSorted) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Node("Relu", {"b"}, {"c"})
      .Node("Relu", {"a"}, {"b"})
      .Node("Relu", {"x"}, {"a"})
      .Output("c");
  const Graph graph = Read(model);
  ASSERT_THAT(graph.ops, SizeIs(3));
  EXPECT_EQ(graph.ops[0].name, "node_a");
  EXPECT_EQ(graph.ops[2].name, "node_c");
}

TEST(ReadOnnx, ShapeArithmeticInsideTheGraphIsFollowedAndCostsNothing) {
  // What PyTorch writes for x.view(x.size(0), -1, heads, 2).
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 6, 8))
      .Node("Shape", {"x"}, {"s"})
      .Number("zero", 0)
      .Node("Gather", {"s", "zero"}, {"b"}, {onnx::test::Int("axis", 0)})
      .Numbers("axis0", {0})
      .Node("Unsqueeze", {"b", "axis0"}, {"b1"})
      .Numbers("rest", {-1, 4, 2})
      .Node("Concat", {"b1", "rest"}, {"t"}, {onnx::test::Int("axis", 0)})
      .Node("Reshape", {"x", "t"}, {"y"})
      .Output("y");
  const Graph graph = Read(model, Batch(3));
  EXPECT_THAT(ShapeOf(graph, "y"), ElementsAre(3, 6, 4, 2));
  for (const char* host : {"s", "b", "b1", "t"}) EXPECT_EQ(Making(graph, host).kind, Kind::kHost);
  EXPECT_EQ(Making(graph, "y").kind, Kind::kView);
}

TEST(ReadOnnx, DeclaredShapesHelpWhereInferenceCannotTell) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 6))
      .Node("Strange", {"x"}, {"a"}, {}, "my.domain")
      .Node("Strange", {"x"}, {"b"}, {}, "my.domain")
      .Declared("a", TestDims("batch", 9))
      .Declared("b", TestDims("2*batch", 9))
      .Node("Relu", {"a"}, {"c"})
      .Node("Relu", {"b"}, {"d"})
      .Output("c");
  const Graph graph = Read(model, Batch(5));
  EXPECT_THAT(ShapeOf(graph, "c"), ElementsAre(5, 9));
  EXPECT_EQ(Making(graph, "c").kind, Kind::kActivation);
  EXPECT_FALSE(Named(graph, "b").dims);  // expressions are not evaluated
  EXPECT_EQ(Making(graph, "d").kind, Kind::kUnknown);
  EXPECT_THAT(Making(graph, "d").why_unknown,
              HasSubstr("the shape of its operand 'b' is not known"));
  EXPECT_THAT(Making(graph, "a").why_unknown, HasSubstr("'my.domain' is not known"));
}

TEST(ReadOnnx, WhatContradictsItselfIsUnknownWithAReason) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 6))
      .Weight("w", {5, 2})
      .Node("MatMul", {"x", "w"}, {"y"})
      .Output("y");
  const Graph graph = Read(model, Batch(3));
  EXPECT_EQ(graph.ops[0].kind, Kind::kUnknown);
  EXPECT_EQ(graph.ops[0].why_unknown, "it multiplies 3x6 by 5x2");
}

TEST(ReadOnnx, FunctionsOfTheFileAreWalkedWhereTheyAreCalled) {
  TestModel model;
  model.Function("my", "Block", {"a", "w"}, {"out"},
                 {onnx::test::NodeBytes("MatMul", {"a", "w"}, {"t"}, {}, "", "inner"),
                  onnx::test::NodeBytes("Concat", {"t", "t"}, {"out"},
                                        {onnx::test::Reference("axis", "along")}, "", "join")});
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", {3, 5})
      .Node("Block", {"x", "w"}, {"y"}, {onnx::test::Int("along", 1)}, "my")
      .Node("Block", {"x", "w"}, {"z"}, {onnx::test::Int("along", 0)}, "my")
      .Output("y")
      .Output("z");
  const Graph graph = Read(model, Batch(2));
  EXPECT_THAT(graph.ops, SizeIs(4));
  EXPECT_EQ(graph.ops[0].macs, 2 * 3 * 5);
  EXPECT_EQ(*graph.tensors[static_cast<std::size_t>(graph.outputs[0])].dims, (Dims{2, 10}));
  EXPECT_EQ(*graph.tensors[static_cast<std::size_t>(graph.outputs[1])].dims, (Dims{4, 5}));
}

TEST(ReadOnnx, AFunctionThatCallsItselfIsRefused) {
  TestModel model;
  model.Function("my", "Block", {"a"}, {"out"},
                 {onnx::test::NodeBytes("Block", {"a"}, {"out"}, {}, "my", "again")});
  model.graph().Input("x", TestDims("batch", 3)).Node("Block", {"x"}, {"y"}, {}, "my").Output("y");
  EXPECT_THAT(ErrorOf(model.Bytes()), HasSubstr("calls functions more than"));
}

// 100,000 empty inputs in a function that is called 40,000 times: a file of a megabyte that took
// gigabytes.
TEST(ReadOnnx, A2_OperandsOfFunctionsCountEachTimeTheyAreCalled) {
  TestModel model;
  model.Function(
      "my", "Wide", {"a"}, {"out"},
      {onnx::test::NodeBytes("Relu", {"a"}, {"out"}, {}, "", "first"),
       onnx::test::NodeBytes("Other", std::vector<std::string>(100'000), {"t"}, {}, "", "wide")});
  auto& graph = model.graph().Input("x", TestDims("batch", 3));
  for (int i = 0; i < 400; ++i) graph.Node("Wide", {"x"}, {fmt::format("y{}", i)}, {}, "my");
  graph.Output("y0");
  EXPECT_THAT(ErrorOf(model.Bytes()), HasSubstr("no model needs that many"));
}

TEST(ReadOnnx, OfTwoBranchesTheOneWithMoreWorkCounts) {
  const std::string small = TestGraph().Node("Relu", {"x"}, {"t"}).Output("t").Bytes();
  const std::string large =
      TestGraph().Weight("v", {3, 3}).Node("MatMul", {"x", "v"}, {"e"}).Output("e").Bytes();
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Input("c", TestDims(), TestGraph::kBool)
      .Node("If", {"c"}, {"y"},
            {onnx::test::Graph("then_branch", small), onnx::test::Graph("else_branch", large)})
      .Output("y");
  const Graph graph = Read(model, Batch(2));
  ASSERT_THAT(graph.ops, SizeIs(1));
  EXPECT_EQ(graph.ops[0].macs, 2 * 3 * 3);
}

TEST(ReadOnnx, ALoopCountsAsOftenAsItRuns) {
  const std::string body = TestGraph()
                               .Input("i", TestDims(), TestGraph::kInt64)
                               .Input("go", TestDims(), TestGraph::kBool)
                               .Input("h", TestDims())
                               .Weight("v", {3, 3})
                               .Node("MatMul", {"h", "v"}, {"next"})
                               .Node("Identity", {"go"}, {"still"})
                               .Node("Relu", {"next"}, {"shown"})
                               .Output("still")
                               .Output("next")
                               .Output("shown")
                               .Bytes();
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Number("times", 10)
      .Node("Loop", {"times", "", "x"}, {"last", "all"}, {onnx::test::Graph("body", body)})
      .Output("all");
  const Graph graph = Read(model, Batch(2));
  EXPECT_EQ(Making(graph, "next").macs, 10 * 2 * 3 * 3);
  EXPECT_EQ(Making(graph, "next").steps, 10);
  EXPECT_THAT(ShapeOf(graph, "all"), ElementsAre(10, 2, 3));

  TestModel open;
  open.graph()
      .Input("x", TestDims("batch", 3))
      .Input("times", TestDims(), TestGraph::kInt64)
      .Node("Loop", {"times", "", "x"}, {"last", "all"}, {onnx::test::Graph("body", body)})
      .Output("all");
  EXPECT_THAT(Read(open).ops.back().why_unknown, HasSubstr("how often it repeats"));
}

TEST(ReadOnnx, AScanRunsOverItsAxis) {
  const std::string body = TestGraph()
                               .Input("h", TestDims())
                               .Input("part", TestDims())
                               .Node("Add", {"h", "part"}, {"next"})
                               .Node("Relu", {"next"}, {"shown"})
                               .Output("next")
                               .Output("shown")
                               .Bytes();
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Input("parts", TestDims(7, "batch", 3))
      .Node("Scan", {"x", "parts"}, {"last", "all"},
            {onnx::test::Int("num_scan_inputs", 1), onnx::test::Graph("body", body)})
      .Output("all");
  EXPECT_THAT(ShapeOf(Read(model, Batch(2)), "all"), ElementsAre(7, 2, 3));
}

TEST(ReadOnnx, ConvolutionsThatSwallowedANormAreMarked) {
  for (const auto& [out, weight, expected] : {std::tuple{"getitem_3", "w", true},
                                              {"getitem", "w", true},
                                              {"conv2d", "w", false},
                                              {"getitem_x", "w", false},
                                              {"y", "onnx::Conv_12", true}}) {
    TestModel model("pytorch");
    model.graph()
        .Input("x", TestDims("batch", 3, 8, 8))
        .Weight(weight, {4, 3, 3, 3})
        .Node("Conv", {"x", weight}, {out})
        .Output(out);
    EXPECT_EQ(Read(model).ops[0].folded_norm, expected) << out << " " << weight;
  }
  TestModel other("tf2onnx");
  other.graph()
      .Input("x", TestDims("n", 3, 8, 8))
      .Weight("w", {4, 3, 3, 3})
      .Node("Conv", {"x", "w"}, {"getitem"})
      .Output("getitem");
  EXPECT_FALSE(Read(other).ops[0].folded_norm);
}

TEST(ReadOnnx, ALayerReadsItsWeightsDirectlyWhateverLayoutTheyArePutInto) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", {5, 3})
      .Node("Transpose", {"w"}, {"t"})
      .Node("MatMul", {"x", "t"}, {"y"})
      .Output("y");
  const Graph graph = Read(model);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(Making(graph, "y").inputs[1])].name, "w");
}

// What is wrong with a file.

TEST(BadOnnx, NoProtobufAtAll) {
  EXPECT_THAT(ErrorOf("this is a text file\n"), HasSubstr("test.onnx: "));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no graph in it"));
  EXPECT_THAT(ErrorOf(std::string(100, '\xff')), HasSubstr("no whole ONNX file"));
}

TEST(BadOnnx, CutShortAnywhereIsRefusedOrReadInPart) {
  const std::string whole = Linear(TestDims("batch", 3)).Bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto graph = ReadOnnx(std::string_view(whole).substr(0, size), "test.onnx", {});
    if (!graph) {
      EXPECT_THAT(graph.error().message, HasSubstr("test.onnx: "));
    }
  }
}

TEST(BadOnnx, AnyByteChangedIsSurvived) {
  const std::string whole = Linear(TestDims("batch", 3)).Bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x40, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto graph = ReadOnnx(bytes, "test.onnx", Batch(2));
      EXPECT_TRUE(graph || !graph.error().message.empty());
    }
  }
}

TEST(BadOnnx, EmptyGraph) { EXPECT_THAT(ErrorOf(TestModel().Bytes()), HasSubstr("no nodes")); }

TEST(BadOnnx, CycleNamesANodeOnIt) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Node("Relu", {"x"}, {"a"})
      .Node("Add", {"a", "c"}, {"b"})
      .Node("Relu", {"b"}, {"c"})
      .Node("Relu", {"c"}, {"d"})
      .Output("d");
  EXPECT_THAT(ErrorOf(model.Bytes()),
              AllOf(HasSubstr("cycle"), testing::ContainsRegex("node_[bc]")));
}

TEST(BadOnnx, AValueMadeTwice) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Node("Relu", {"x"}, {"y"})
      .Node("Neg", {"x"}, {"y"})
      .Output("y");
  EXPECT_THAT(ErrorOf(model.Bytes()), HasSubstr("'y' is made twice"));
}

TEST(BadOnnx, AnInputDeclaredTwice) {
  TestModel model = Linear(TestDims("batch", 3));
  model.graph().Input("x", TestDims("batch", 3));
  EXPECT_THAT(ErrorOf(model.Bytes()), HasSubstr("'x' is made twice"));
}

TEST(BadOnnx, AValueMadeByNobody) {
  TestModel model;
  model.graph().Input("x", TestDims("batch", 3)).Node("Add", {"x", "ghost"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorOf(model.Bytes()), AllOf(HasSubstr("node_y"), HasSubstr("reads 'ghost'")));
  TestModel no_output;
  no_output.graph().Input("x", TestDims("batch", 3)).Node("Relu", {"x"}, {"y"}).Output("z");
  EXPECT_THAT(ErrorOf(no_output.Bytes()), HasSubstr("the output 'z' is made by no node"));
}

TEST(BadOnnx, AbsurdDimensions) {
  TestModel negative;
  negative.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", {-3, 5})
      .Node("MatMul", {"x", "w"}, {"y"})
      .Output("y");
  EXPECT_THAT(ErrorOf(negative.Bytes()), HasSubstr("shape that no tensor has"));
  EXPECT_THAT(ErrorOf(Linear(TestDims("batch", std::int64_t{1} << 50)).Bytes()),
              HasSubstr("no tensor is that large"));
  TestModel many;
  many.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", Dims(17, 1))
      .Node("MatMul", {"x", "w"}, {"y"})
      .Output("y");
  EXPECT_THAT(ErrorOf(many.Bytes()), HasSubstr("shape that no tensor has"));
}

TEST(BadOnnx, ProductsThatOverflowStayUnknown) {
  TestModel model;
  const std::int64_t huge = kLargestDim;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Numbers("times", {huge, huge})
      .Node("Tile", {"x", "times"}, {"y"})
      .Numbers("shape", {huge, huge, huge, huge})
      .Node("ConstantOfShape", {"shape"}, {"c"})
      .Node("Reshape", {"c", "times"}, {"z"})
      .Output("y");
  const Graph graph = Read(model, Batch(2));
  EXPECT_EQ(Making(graph, "y").kind, Kind::kUnknown);
}

TEST(BadOnnx, SubgraphsInSubgraphsEndSomewhere) {
  std::string body = TestGraph().Node("Relu", {"x"}, {"t"}).Output("t").Bytes();
  for (int i = 0; i < 200; ++i) {
    body = TestGraph()
               .Node("If", {"c"}, {"t"},
                     {onnx::test::Graph("then_branch", body),
                      onnx::test::Graph("else_branch", body.size() < 2000 ? body : "")})
               .Output("t")
               .Bytes();
  }
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Input("c", TestDims(), TestGraph::kBool)
      .Node("If", {"c"}, {"y"},
            {onnx::test::Graph("then_branch", body), onnx::test::Graph("else_branch", body)})
      .Output("y");
  const auto graph = ReadOnnx(model.Bytes(), "test.onnx", {});
  EXPECT_TRUE(graph || !graph.error().message.empty());
}

TEST(LooksLikeOnnx, KnowsModelsFromOtherFiles) {
  EXPECT_TRUE(LooksLikeOnnx(Linear(TestDims(1, 3)).Bytes()));
  for (const char* other : {"", "PK\x03\x04zip", "{\"architectures\": []}", "# text", "\x08"}) {
    EXPECT_FALSE(LooksLikeOnnx(other)) << other;
  }
}

}  // namespace
}  // namespace sharewell::graph
