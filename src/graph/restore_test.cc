#include "graph/restore.h"

#include <gmock/gmock.h>

#include "graph/onnx/onnx.h"
#include "graph/onnx/test_model.h"

namespace sharewell::graph {
namespace {

using onnx::TestDims;
using onnx::TestModel;
using onnx::test::Int;
using onnx::test::Ints;
using testing::ElementsAre;
using testing::SizeIs;

Graph Restored(const TestModel& model, std::int64_t batch = 2) {
  auto graph = ReadOnnx(model.Bytes(), "test.onnx", onnx::Batch(batch));
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  Restore(*graph);
  return *std::move(graph);
}

// The operators that launch work, by type.
std::vector<std::string> Types(const Graph& graph) {
  std::vector<std::string> types;
  for (const Op& op : graph.ops) {
    if (op.kind != Kind::kHost && op.kind != Kind::kView) types.push_back(op.type);
  }
  return types;
}

std::vector<std::string> Operands(const Graph& graph, const Op& op) {
  std::vector<std::string> names;
  for (const TensorId id : op.inputs) {
    names.push_back(id == kAbsent ? "" : graph.tensors[static_cast<std::size_t>(id)].name);
  }
  return names;
}

double ParamsOf(const Graph& graph) {
  double params = graph.hidden_params;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role == Role::kWeight) params += Elements(tensor);
  }
  return params;
}

TEST(Restore, PutsBatchNormsBackBehindTheirConvolutions) {
  TestModel model("pytorch");
  model.graph()
      .Input("x", TestDims("batch", 3, 8, 8))
      .Weight("w", {4, 3, 3, 3})
      .Node("Conv", {"x", "w"}, {"getitem"})
      .Node("Relu", {"getitem"}, {"y"})
      .Output("y");
  const Graph graph = Restored(model);
  ASSERT_THAT(Types(graph), ElementsAre("Conv", "BatchNormalization", "Relu"));
  EXPECT_TRUE(graph.ops[1].restored);
  EXPECT_EQ(graph.hidden_params, 2 * 4);
  EXPECT_THAT(Operands(graph, graph.ops[1]), ElementsAre("getitem"));
  EXPECT_THAT(Operands(graph, graph.ops[2]), ElementsAre("getitem.norm"));
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.ops[2].inputs[0])].dims,
            (Dims{2, 4, 6, 6}));
}

TEST(Restore, TheBiasThatANormBecameIsNotCountedTwice) {
  TestModel model("pytorch");
  model.graph()
      .Input("x", TestDims("batch", 3, 8, 8))
      .Weight("onnx::Conv_1", {4, 3, 3, 3})
      .Weight("onnx::Conv_2", {4})
      .Node("Conv", {"x", "onnx::Conv_1", "onnx::Conv_2"}, {"y"})
      .Output("y");
  const Graph graph = Restored(model);
  EXPECT_EQ(ParamsOf(graph), 4 * 3 * 9 + 2 * 4);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].name, "y.norm");
}

// q and k scaled beforehand, k transposed, a mask, a guard against NaN: as PyTorch exports it.
TestModel Attention() {
  TestModel model;
  model.graph()
      .Input("q", TestDims("batch", 8, 5, 16))
      .Input("k", TestDims("batch", 8, 7, 16))
      .Input("v", TestDims("batch", 8, 7, 16))
      .Input("mask", TestDims("batch", 1, 5, 7))
      .Reals("scale", {0.5F}, {})
      .Reals("zero", {0.0F}, {})
      .Node("Mul", {"q", "scale"}, {"qs"})
      .Node("Transpose", {"k"}, {"kt"}, {Ints("perm", {0, 1, 3, 2})})
      .Node("Mul", {"kt", "scale"}, {"ks"})
      .Node("MatMul", {"qs", "ks"}, {"scores"})
      .Node("Add", {"scores", "mask"}, {"masked"})
      .Node("Softmax", {"masked"}, {"p"}, {Int("axis", -1)})
      .Node("IsNaN", {"p"}, {"nan"})
      .Node("Where", {"nan", "zero", "p"}, {"safe"})
      .Node("MatMul", {"safe", "v"}, {"out"})
      .Node("Relu", {"out"}, {"y"})
      .Output("y");
  return model;
}

TEST(Restore, AttentionIsOneKernel) {
  const Graph graph = Restored(Attention());
  ASSERT_THAT(graph.ops, SizeIs(2));
  EXPECT_EQ(graph.ops[0].kind, Kind::kAttention);
  EXPECT_EQ(graph.ops[0].macs, 2.0 * 8 * 5 * 7 * (16 + 16));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("q", "k", "v", "mask"));
  for (const Tensor& tensor : graph.tensors) EXPECT_NE(tensor.name, "scores");
}

TEST(Restore, AttentionWhoseScoresAreReadElsewhereStaysAsItIs) {
  for (const char* read : {"scores", "masked", "p", "safe"}) {
    TestModel model = Attention();
    model.graph().Output(read);
    const Graph graph = Restored(model);
    EXPECT_THAT(Types(graph), testing::Contains("Softmax")) << read;
  }
}

TEST(Restore, AMaskThatIsAConstantIsNotTrained) {
  TestModel model;
  model.graph()
      .Input("q", TestDims("batch", 8, 5, 16))
      .Weight("mask", {1, 1, 5, 5})
      .Node("Transpose", {"q"}, {"kt"}, {Ints("perm", {0, 1, 3, 2})})
      .Node("MatMul", {"q", "kt"}, {"scores"})
      .Node("Add", {"scores", "mask"}, {"masked"})
      .Node("Softmax", {"masked"}, {"p"})
      .Node("MatMul", {"p", "q"}, {"y"})
      .Output("y");
  EXPECT_EQ(ParamsOf(Restored(model)), 0);
}

TEST(Restore, GeluByErf) {
  // x * (1 + erf(x / sqrt 2)) / 2, in the two orders exporters use.
  for (const bool half_first : {false, true}) {
    TestModel model;
    model.graph().Input("in", TestDims("batch", 6)).Node("Relu", {"in"}, {"x"});
    model.graph().Reals("root2", {1.414F}, {}).Reals("one", {1}, {}).Reals("half", {0.5F}, {});
    model.graph()
        .Node("Div", {"x", "root2"}, {"a"})
        .Node("Erf", {"a"}, {"b"})
        .Node("Add", {"b", "one"}, {"c"});
    if (half_first) {
      model.graph().Node("Mul", {"x", "half"}, {"h"}).Node("Mul", {"h", "c"}, {"y"});
    } else {
      model.graph().Node("Mul", {"x", "c"}, {"d"}).Node("Mul", {"d", "half"}, {"y"});
    }
    model.graph().Node("Neg", {"y"}, {"z"}).Output("z");
    const Graph graph = Restored(model);
    EXPECT_THAT(Types(graph), ElementsAre("Relu", "Gelu", "Neg")) << half_first;
    EXPECT_EQ(graph.ops[1].kind, Kind::kActivation);
    EXPECT_THAT(Operands(graph, graph.ops[1]), ElementsAre("x"));
  }
}

TEST(Restore, GeluByTanh) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 6))
      .Reals("three", {3}, {})
      .Reals("a", {0.044715F}, {})
      .Reals("b", {0.797F}, {})
      .Reals("one", {1}, {})
      .Reals("half", {0.5F}, {})
      .Node("Mul", {"x", "half"}, {"h"})
      .Node("Pow", {"x", "three"}, {"p"})
      .Node("Mul", {"p", "a"}, {"m"})
      .Node("Add", {"x", "m"}, {"s"})
      .Node("Mul", {"s", "b"}, {"t"})
      .Node("Tanh", {"t"}, {"u"})
      .Node("Add", {"u", "one"}, {"v"})
      .Node("Mul", {"h", "v"}, {"y"})
      .Output("y");
  EXPECT_THAT(Types(Restored(model)), ElementsAre("Gelu"));
}

TEST(Restore, WhatPyTorchRanOperatorByOperatorStaysSo) {
  // The tracing exporter names values after the operator that ran: "mul_3" was a multiplication,
  // "silu" the end of a kernel that ONNX has no operator for.
  const auto types = [](const std::string& result) {
    TestModel model("pytorch");
    model.graph()
        .Input("x", TestDims("batch", 6))
        .Node("Sigmoid", {"x"}, {"s"})
        .Node("Mul", {"x", "s"}, {result})
        .Output(result);
    return Types(Restored(model));
  };
  EXPECT_THAT(types("silu"), ElementsAre("Silu"));
  EXPECT_THAT(types("mul_3"), ElementsAre("Sigmoid", "Mul"));
}

TEST(Restore, SiluAndHardSwish) {
  for (const char* gate : {"Sigmoid", "HardSigmoid"}) {
    TestModel model;
    model.graph()
        .Input("x", TestDims("batch", 6))
        .Node(gate, {"x"}, {"s"})
        .Node("Mul", {"x", "s"}, {"y"})
        .Output("y");
    EXPECT_THAT(Restored(model).ops, SizeIs(1)) << gate;
  }
  // A gate on another value is a gate.
  TestModel gated;
  gated.graph()
      .Input("x", TestDims("batch", 6))
      .Input("z", TestDims("batch", 6))
      .Node("Sigmoid", {"x"}, {"s"})
      .Node("Mul", {"z", "s"}, {"y"})
      .Output("y");
  EXPECT_THAT(Restored(gated).ops, SizeIs(2));
}

TEST(Restore, LayerNormSpelledOut) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 4, 6))
      .Reals("two", {2}, {})
      .Reals("eps", {1e-5F}, {})
      .Weight("scale", {6})
      .Weight("shift", {6})
      .Node("ReduceMean", {"x"}, {"m"}, {Ints("axes", {-1})})
      .Node("Sub", {"x", "m"}, {"d"})
      .Node("Pow", {"d", "two"}, {"q"})
      .Node("ReduceMean", {"q"}, {"v"}, {Ints("axes", {-1})})
      .Node("Add", {"v", "eps"}, {"e"})
      .Node("Sqrt", {"e"}, {"r"})
      .Node("Div", {"d", "r"}, {"n"})
      .Node("Mul", {"n", "scale"}, {"s"})
      .Node("Add", {"s", "shift"}, {"y"})
      .Output("y");
  const Graph graph = Restored(model);
  ASSERT_THAT(Types(graph), ElementsAre("LayerNormalization"));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("x", "scale", "shift"));
}

TEST(Restore, RmsNormSpelledOut) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 4, 6))
      .Reals("two", {2}, {})
      .Reals("eps", {1e-5F}, {})
      .Weight("scale", {6})
      .Node("Pow", {"x", "two"}, {"q"})
      .Node("ReduceMean", {"q"}, {"v"}, {Ints("axes", {-1})})
      .Node("Add", {"v", "eps"}, {"e"})
      .Node("Sqrt", {"e"}, {"r"})
      .Node("Reciprocal", {"r"}, {"i"})
      .Node("Mul", {"x", "i"}, {"n"})
      .Node("Mul", {"scale", "n"}, {"y"})
      .Output("y");
  const Graph graph = Restored(model);
  ASSERT_THAT(Types(graph), ElementsAre("RMSNormalization"));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("x", "scale"));
}

TEST(Restore, ANormWhoseMeanIsReadElsewhereStaysSpelledOut) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 4, 6))
      .Reals("two", {2}, {})
      .Reals("eps", {1e-5F}, {})
      .Node("ReduceMean", {"x"}, {"m"}, {Ints("axes", {-1})})
      .Node("Sub", {"x", "m"}, {"d"})
      .Node("Pow", {"d", "two"}, {"q"})
      .Node("ReduceMean", {"q"}, {"v"}, {Ints("axes", {-1})})
      .Node("Add", {"v", "eps"}, {"e"})
      .Node("Sqrt", {"e"}, {"r"})
      .Node("Div", {"d", "r"}, {"y"})
      .Output("y")
      .Output("m");
  EXPECT_THAT(Restored(model).ops, SizeIs(7));
}

// A batch norm of x in training, as torch.onnx writes it, with the mean and variance of `of`.
TestModel WithStatistics(const std::string& of) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 4, 6))
      .Input("z", TestDims("batch", 4, 6))
      .Weight("scale", {4})
      .Weight("shift", {4})
      .Node("ReduceMean", {of}, {"mean"}, {Ints("axes", {0, 2}), Int("keepdims", 0)})
      .Node("ReduceMean", {of}, {"m"}, {Ints("axes", {0, 2})})
      .Node("Sub", {of, "m"}, {"d"})
      .Node("Mul", {"d", "d"}, {"q"})
      .Node("ReduceMean", {"q"}, {"variance"}, {Ints("axes", {0, 2}), Int("keepdims", 0)})
      .Node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"y"})
      .Output("y");
  return model;
}

TEST(Restore, ABatchNormComputesItsStatisticsItself) {
  const Graph graph = Restored(WithStatistics("x"));
  ASSERT_THAT(Types(graph), ElementsAre("BatchNormalization"));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("x", "scale", "shift"));
}

TEST(Restore, StatisticsThatAreReadElsewhereStay) {
  TestModel model = WithStatistics("x");
  model.graph().Output("mean");
  EXPECT_THAT(Types(Restored(model)), ElementsAre("ReduceMean", "BatchNormalization"));
}

TEST(Restore, MeansOfSomethingElseAreNoStatistics) {
  EXPECT_THAT(Restored(WithStatistics("z")).ops, SizeIs(6));
}

TEST(Restore, ABiasBelongsToItsProduct) {
  TestModel model;
  model.graph()
      .Input("x", TestDims("batch", 3))
      .Weight("w", {3, 5})
      .Weight("b", {5})
      .Node("MatMul", {"x", "w"}, {"m"})
      .Node("Add", {"b", "m"}, {"y"})
      .Output("y");
  const Graph graph = Restored(model);
  ASSERT_THAT(graph.ops, SizeIs(1));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("x", "w", "b"));
  EXPECT_EQ(graph.ops[0].macs, 2 * 3 * 5);
}

// Three norms that an exporter gave one scale and one shift.
TestModel MergedNorms(bool shared_layers) {
  TestModel model;
  model.graph().Input("x", TestDims("batch", 4)).Weight("scale", {4}).Weight("shift", {4});
  std::string at = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string layer = std::to_string(i);
    const std::string weight = shared_layers ? "w" : "w" + layer;
    if (!shared_layers || i == 0) model.graph().Weight(weight, {4, 4});
    model.graph().Node("MatMul", {at, weight}, {"m" + layer});
    model.graph().Node("LayerNormalization", {"m" + layer, "scale", "shift"}, {"n" + layer});
    at = "n" + layer;
  }
  model.graph().Output(at);
  return model;
}

TEST(Restore, MergedWeightsCountForEachThatReadsThem) {
  EXPECT_EQ(ParamsOf(Restored(MergedNorms(false))), 3 * (16 + 4 + 4));
  EXPECT_EQ(ParamsOf(Restored(MergedNorms(true))), 16 + 4 + 4);  // shared on purpose
}

TEST(Restore, WeightsPutIntoAnotherLayoutAreNotWork) {
  TestModel model;
  model.graph()
      .Input("x", TestDims(20, "batch", 8))
      .Weight("w", {64, 8})
      .Weight("r", {1, 64, 16})
      .Numbers("axis", {0})
      .Numbers("a", {0})
      .Numbers("b", {32})
      .Numbers("c", {64})
      .Node("Slice", {"w", "a", "b", "axis"}, {"w1"})
      .Node("Slice", {"w", "b", "c", "axis"}, {"w2"})
      .Node("Concat", {"w2", "w1"}, {"w3"}, {Int("axis", 0)})
      .Node("Unsqueeze", {"w3", "axis"}, {"w4"})
      .Node("LSTM", {"x", "w4", "r"}, {"y"}, {Int("hidden_size", 16)})
      .Output("y");
  const Graph graph = Restored(model);
  ASSERT_THAT(graph.ops, SizeIs(1));
  EXPECT_THAT(Operands(graph, graph.ops[0]), ElementsAre("x", "w", "r"));
}

TEST(Restore, AnEmptyGraphIsLeftAlone) {
  Graph graph;
  Restore(graph);
  EXPECT_TRUE(graph.ops.empty());
}

}  // namespace
}  // namespace sharewell::graph
