#include "graph/pt2/pt2.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <map>

#include "graph/pt2/program.h"
#include "graph/pt2/test_program.h"
#include "graph/pt2/test_zip.h"

namespace sharewell::graph::pt2 {
namespace {

using testing::HasSubstr;

std::string T(const std::string& name) {
  return fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", name);
}
std::string Ts(const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const auto& name : names) list.push_back(fmt::format(R"({{"name":"{}"}})", name));
  return fmt::format(R"({{"as_tensors":[{}]}})", fmt::join(list, ","));
}
std::string G(const TestProgram& graph, const std::string& inputs, const std::string& outputs) {
  return fmt::format(R"({{"as_graph":{{"name":"g","graph":{}}}}})", graph.Body(inputs, outputs));
}
const std::string kNone = R"({"as_none":true})";

Graph Read(const TestProgram& program, const Binding& binding = {}) {
  auto graph = ReadProgram(program.Json(), "m.pt2", binding);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph{};
}
std::string ErrorOf(const TestProgram& program, const Binding& binding = {}) {
  const auto graph = ReadProgram(program.Json(), "m.pt2", binding);
  return graph ? "read" : graph.error().message;
}

const Tensor& TensorOf(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  return graph.tensors.front();
}
double Macs(const Graph& graph) {
  double macs = 0;
  for (const Op& op : graph.ops) macs += op.macs;
  return macs;
}
double Params(const Graph& graph) {
  double params = 0;
  for (const Tensor& tensor : graph.tensors) {
    params += tensor.role == Role::kWeight ? Elements(tensor) : 0;
  }
  return params;
}
std::map<std::string_view, int> Kinds(const Graph& graph) {
  std::map<std::string_view, int> kinds;
  for (const Op& op : graph.ops) ++kinds[NameOf(op.kind)];
  return kinds;
}
TestProgram Linear(const std::string& batch) {
  return TestProgram()
      .Input("x", {batch, "64"})
      .Weight("w", {"10", "64"})
      .Tensor("y", {batch, "10"})
      .Node("torch.ops.aten.linear.default",
            {{"input", T("x")}, {"weight", T("w")}, {"bias", kNone}}, T("y"));
}

// The programs that PyTorch itself wrote.
Graph ReadFile(const std::string& name, std::int64_t batch) {
  std::ifstream file("data/h200/pt2/" + name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto graph = ReadPt2(bytes, name, {.batch = batch, .named = {}});
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph{};
}

TEST(Pt2, ReadsAConvolutionalNetwork) {
  const Graph graph = ReadFile("tv_shufflenet_v2_x0_5_224.pt2", 1);
  EXPECT_EQ(graph.format, "torch.export");
  EXPECT_EQ(graph.producer, "pytorch 2.11.0+cu130");
  EXPECT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(Params(graph), 1'366'792);  // as torchvision states
  EXPECT_NEAR(Macs(graph), 40.5e6, 0.5e6);
  auto kinds = Kinds(graph);
  EXPECT_EQ(kinds["conv"], 56);
  EXPECT_EQ(kinds["norm"], 56);
  EXPECT_EQ(kinds["activation"], 37);
  EXPECT_EQ(kinds["matmul"], 1);
  EXPECT_EQ(kinds["move"], 32) << "16 concatenations, 16 channel shuffles";
  EXPECT_EQ(kinds["unknown"], 0);
  EXPECT_EQ(graph.ops[1].name, "conv1.0");
  EXPECT_EQ(graph.ops[1].type, "aten.conv2d");
  EXPECT_EQ(graph.ops[1].kernel, 9);
  EXPECT_EQ(TensorOf(graph, "conv1.0.weight").role, Role::kWeight);
  EXPECT_EQ(TensorOf(graph, "conv1.1.running_mean").role, Role::kConstant);
}

TEST(Pt2, ReadsATransformer) {
  const Graph graph = ReadFile("enc_256x2.pt2", 32);
  // Two layers of four projections and two feed-forward products, both of attention's products,
  // and the head.
  const double layer = 200 * (4 * 256 * 256 + 2 * 256 * 1024) + 2.0 * 200 * 200 * 256;
  EXPECT_EQ(Macs(graph), 32 * (2 * layer + 2 * 256));
  auto kinds = Kinds(graph);
  EXPECT_EQ(kinds["attention"], 2);
  EXPECT_EQ(kinds["matmul"], 9);
  EXPECT_EQ(kinds["dropout"], 6);
  EXPECT_EQ(kinds["unknown"], 0);
  EXPECT_EQ(TensorOf(graph, "x").dims, (Dims{32, 200}));
  EXPECT_EQ(TensorOf(graph, "x").dtype, DType::kInt64);
}

TEST(Pt2, ReadsARecurrentNetwork) {
  const Graph graph = ReadFile("lstm_256x1.pt2", 8);
  EXPECT_EQ(Macs(graph), 8.0 * (200 * 1024 * (256 + 256) + 256 * 2));
  for (const Op& op : graph.ops) {
    if (op.kind == Kind::kRecurrent) {
      EXPECT_EQ(op.steps, 200);
    }
  }
  EXPECT_EQ(Kinds(graph)["recurrent"], 1);
  EXPECT_EQ(Kinds(graph)["unknown"], 0);
}

TEST(Pt2, TheBatchIsTheFirstDimensionOfTheInputs) {
  const Graph graph = Read(Linear("s0"), {.batch = 32, .named = {}});
  EXPECT_EQ(graph.batch, 32);
  EXPECT_EQ(TensorOf(graph, "y").dims, (Dims{32, 10}));
  EXPECT_EQ(Macs(graph), 32 * 640);
}

TEST(Pt2, ANameBeatsTheExamplesSize) {
  const TestProgram program = TestProgram()
                                  .Input("x", {"s0", "s1~128"})
                                  .Tensor("y", {"s0", "2*s1 + 1"})
                                  .Node("torch.ops.aten.pad.default", {{"self", T("x")}}, T("y"));
  EXPECT_EQ(TensorOf(Read(program), "y").dims, (Dims{1, 257}));
  EXPECT_EQ(TensorOf(Read(program, {.batch = 4, .named = {{"s1", 16}}}), "y").dims, (Dims{4, 33}));
  EXPECT_EQ(ErrorOf(program, {.batch = 4, .named = {{"s2", 16}}}),
            "m.pt2: has no open dimension 's2'; its open dimensions are 's0', 's1'");
  EXPECT_THAT(ErrorOf(program, {.batch = 4, .named = {{"s1", -1}}}), HasSubstr("cannot be -1"));
}

TEST(Pt2, SaysWhichDimensionsAreOpen) {
  const TestProgram program = TestProgram()
                                  .Input("x", {"s0", "s1"})
                                  .Tensor("y", {"s0", "u3"})
                                  .Node("torch.ops.aten.index.Tensor", {{"self", T("x")}}, T("y"));
  EXPECT_EQ(
      ErrorOf(program),
      "m.pt2: leaves these dimensions open and gives no example size: 's1', 'u3'; bind each, as in "
      "--bind s1=128");
}

TEST(Pt2, AnExportOfOneBatchSizeGrowsWithTheBatch) {
  const TestProgram program =
      Linear("4")
          .Tensor("heads", {"20", "2"})
          .Node("torch.ops.aten.view.default", {{"self", T("y")}}, T("heads"));
  const Graph graph = Read(program, {.batch = 32, .named = {}});
  EXPECT_EQ(TensorOf(graph, "y").dims, (Dims{32, 10}));
  EXPECT_EQ(TensorOf(graph, "heads").dims, (Dims{160, 2})) << "batch x heads";
  EXPECT_EQ(TensorOf(graph, "m.w").dims, (Dims{10, 64}));
  EXPECT_EQ(Macs(graph), 32 * 640);
}

TEST(Pt2, AnExportWithoutABatchIsNotGuessedAt) {
  const TestProgram program =
      TestProgram()
          .Input("a", {"3"})
          .Input("b", {"5"})
          .Tensor("y", {"8"})
          .Node("torch.ops.aten.cat.default", {{"tensors", Ts({"a", "b"})}}, T("y"));
  EXPECT_EQ(Macs(Read(program)), 0);
  EXPECT_THAT(ErrorOf(program, {.batch = 2, .named = {}}),
              HasSubstr("export it with a dynamic batch"));
}

TEST(Pt2, ATransposedWeightIsStillTheWeight) {
  const Graph graph =
      Read(TestProgram()
               .Input("x", {"s0", "64"})
               .Weight("w", {"10", "64"})
               .Weight("b", {"10"})
               .Tensor("wt", {"64", "10"})
               .Tensor("y", {"s0", "10"})
               .Node("torch.ops.aten.t.default", {{"self", T("w")}}, T("wt"))
               .Node("torch.ops.aten.addmm.default",
                     {{"self", T("b")}, {"mat1", T("x")}, {"mat2", T("wt")}}, T("y")));
  const Op& product = graph.ops.back();
  ASSERT_EQ(product.inputs.size(), 3U);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(product.inputs[0])].name, "x");
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(product.inputs[1])].name, "m.w");
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(product.inputs[2])].name, "m.b");
  EXPECT_EQ(product.macs, 640);
}

TEST(Pt2, CountsWhatConvolutionsMultiply) {
  TestProgram program;
  program.Input("x", {"s0", "32", "10", "10"})
      .Weight("w", {"64", "8", "3", "3"})
      .Weight("u", {"64", "16", "2", "2"})
      .Tensor("y", {"s0", "64", "10", "10"})
      .Tensor("z", {"s0", "32", "20", "20"})
      .Node("torch.ops.aten.convolution.default",
            {{"input", T("x")},
             {"weight", T("w")},
             {"bias", kNone},
             {"transposed", R"({"as_bool":false})"},
             {"groups", R"({"as_int":4})"}},
            T("y"))
      .Node("torch.ops.aten.convolution.default",
            {{"input", T("y")},
             {"weight", T("u")},
             {"bias", kNone},
             {"transposed", R"({"as_bool":true})"},
             {"groups", R"({"as_int":2})"}},
            T("z"));
  const Graph graph = Read(program);
  EXPECT_EQ(graph.ops[0].kind, Kind::kConv);
  EXPECT_EQ(graph.ops[0].macs, 64 * 100 * 8 * 9);
  EXPECT_EQ(graph.ops[0].groups, 4);
  EXPECT_EQ(graph.ops[0].kernel, 9);
  EXPECT_EQ(graph.ops[1].kind, Kind::kDeconv);
  EXPECT_EQ(graph.ops[1].macs, 64 * 100 * 16 * 4);
}

TEST(Pt2, CountsWhatEinsumMultiplies) {
  const auto macs = [](const std::string& equation, const std::vector<std::string>& b) {
    return Macs(Read(TestProgram()
                         .Input("a", {"2", "3", "4"})
                         .Tensor("b", b)
                         .Tensor("y", {"1"})
                         .Node("torch.ops.aten.einsum.default",
                               {{"equation", fmt::format(R"({{"as_string":"{}"}})", equation)},
                                {"tensors", Ts({"a", "b"})}},
                               T("y")),
                     {.batch = 2, .named = {}}));
  };
  EXPECT_EQ(macs("bij,bjk->bik", {"2", "4", "5"}), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs("...ij, jk -> ...ik", {"4", "5"}), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs("bij,bjk->bik", {"2", "4"}), 0) << "does not fit";
  EXPECT_EQ(macs(",,,,", {"2"}), 0);
}

TEST(Pt2, EveryLayerOfARecurrentNetworkIsAnOperator) {
  TestProgram program;
  program.Input("x", {"s0", "7", "16"})
      .Tensor("y", {"s0", "7", "64"})
      .Tensor("h", {"4", "s0", "32"});
  std::vector<std::string> params;
  for (const char* in : {"16", "16", "64", "64"}) {
    const std::string n = std::to_string(params.size());
    program.Weight("i" + n, {"96", in}).Weight("h" + n, {"96", "32"});
    params.push_back("i" + n);
    params.push_back("h" + n);
  }
  program.Node("torch.ops.aten.gru.input",
               {{"input", T("x")},
                {"hx", T("h")},
                {"params", Ts(params)},
                {"num_layers", R"({"as_int":2})"},
                {"bidirectional", R"({"as_bool":true})"},
                {"batch_first", R"({"as_bool":true})"}},
               T("y") + "," + T("hn"));
  const Graph graph = Read(program, {.batch = 3, .named = {}});
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(graph.ops[0].macs, 3.0 * 7 * 2 * (96 * 16 + 96 * 32));
  EXPECT_EQ(graph.ops[1].macs, 3.0 * 7 * 2 * (96 * 64 + 96 * 32));
  EXPECT_EQ(graph.ops[0].steps, 7);
  EXPECT_EQ(graph.ops[0].outputs[0], graph.ops[1].inputs[0]);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.ops[0].outputs[0])].dims,
            (Dims{3, 7, 64}));
}

TEST(Pt2, ACopyIsAViewWhereTheElementsLieInOrder) {
  const auto kind = [](const std::vector<int>& strides) {
    return Read(TestProgram()
                    .Tensor("x", {"2", "3"}, 7, strides)
                    .Tensor("y", {"6"})
                    .Node("torch.ops.aten.reshape.default", {{"self", T("x")}}, T("y")))
        .ops[0]
        .kind;
  };
  EXPECT_EQ(kind({3, 1}), Kind::kView);
  EXPECT_EQ(kind({1, 2}), Kind::kMove);
}

TEST(Pt2, AConditionCostsItsHeavierBranch) {
  TestProgram light;
  light.Tensor("a", {"4", "64"})
      .Tensor("r", {"4", "64"})
      .Node("torch.ops.aten.relu.default", {{"self", T("a")}}, T("r"));
  TestProgram heavy;
  heavy.Tensor("a", {"4", "64"})
      .Tensor("b", {"64", "64"})
      .Tensor("m", {"4", "64"})
      .Node("torch.ops.aten.mm.default", {{"self", T("a")}, {"mat2", T("b")}}, T("m"));
  for (const bool heavy_first : {true, false}) {
    const std::string inputs = T("a") + "," + T("b");
    const std::string h = G(heavy, inputs, T("m"));
    const std::string l = G(light, inputs, T("r"));
    TestProgram program;
    program.Input("x", {"4", "64"})
        .Weight("w", {"64", "64"})
        .Tensor("y", {"4", "64"})
        .Tensor("z", {"4", "64"})
        .Node("torch.ops.higher_order.cond",
              {{"pred", R"({"as_bool":true})"},
               {"true_fn", heavy_first ? h : l},
               {"false_fn", heavy_first ? l : h},
               {"operands", Ts({"x", "w"})}},
              T("y"))
        .Node("torch.ops.aten.relu.default", {{"self", T("y")}}, T("z"));
    const Graph graph = Read(program, {.batch = 4, .named = {}});
    ASSERT_EQ(graph.ops.size(), 2U);
    EXPECT_EQ(graph.ops[0].kind, Kind::kMatMul);
    EXPECT_EQ(graph.ops[0].macs, 4 * 64 * 64);
    EXPECT_EQ(graph.ops[1].inputs[0], graph.ops[0].outputs[0]);
    EXPECT_TRUE(TensorOf(graph, "m.w").role == Role::kWeight);
  }
}

TEST(Pt2, LoopsAreNotGuessedAt) {
  const TestProgram body = TestProgram().Tensor("a", {"4"});
  const Graph graph = Read(TestProgram()
                               .Input("x", {"4"})
                               .Tensor("y", {"4"})
                               .Node("torch.ops.higher_order.while_loop",
                                     {{"cond_fn", G(body, T("a"), T("a"))},
                                      {"body_fn", G(body, T("a"), T("a"))},
                                      {"carried", Ts({"x"})}},
                                     T("y")),
                           {.batch = 4, .named = {}});
  ASSERT_EQ(graph.ops.size(), 1U);
  EXPECT_EQ(graph.ops[0].kind, Kind::kUnknown);
  EXPECT_THAT(graph.ops[0].why_unknown, HasSubstr("while_loop"));
}

TEST(Pt2, WhatItDoesNotKnowIsSaid) {
  const Graph graph = Read(TestProgram()
                               .Input("x", {"4"})
                               .Tensor("y", {"4"})
                               .Node("torch.ops.mine.special.default", {{"x", T("x")}}, T("y")),
                           {.batch = 4, .named = {}});
  EXPECT_EQ(graph.ops[0].kind, Kind::kUnknown);
  EXPECT_EQ(graph.ops[0].type, "mine.special");
  EXPECT_EQ(graph.ops[0].why_unknown, "no rule for 'torch.ops.mine.special.default'");
}

TEST(Pt2, FrozenParametersAreConstants) {
  std::string json = Linear("s0").Weight("v", {"3"}).Json();
  const std::string frozen = R"("v":{"requires_grad":false,)";
  json.replace(json.find(R"("v":{)"), 5, frozen);
  const auto graph = ReadProgram(json, "m.pt2", {});
  ASSERT_TRUE(graph);
  EXPECT_EQ(TensorOf(*graph, "m.v").role, Role::kConstant);
  EXPECT_EQ(TensorOf(*graph, "m.w").role, Role::kWeight);
}

TEST(Pt2, RefusesSizesThatNoTensorHas) {
  EXPECT_THAT(ErrorOf(Linear("s0").Weight("v", {"-3"})), HasSubstr("'v' has a dimension of -3"));
  EXPECT_THAT(ErrorOf(Linear("s0").Weight("v", {"9000000000000000000"})),
              HasSubstr("has a dimension of 9"));
  EXPECT_EQ(ErrorOf(TestProgram()),
            "m.pt2: its graph has no operators, so there is nothing to cost");
}

TEST(Pt2, FindsTheProgramInTheArchive) {
  const std::string json = Linear("s0").Json();
  EXPECT_TRUE(ReadPt2(TestZip().Add("m/models/model.json", json).Bytes(), "m", {}));
  EXPECT_TRUE(ReadPt2(TestZip().Add("serialized_exported_program.json", json).Bytes(), "m", {}))
      << "as PyTorch wrote it up to 2.7";
  const auto error = [](const TestZip& zip) {
    return ReadPt2(zip.Bytes(), "m.pt2", {}).error().message;
  };
  EXPECT_THAT(error(TestZip().Add("m/models/a.json", json).Add("m/models/b.json", json)),
              HasSubstr("holds 2 programs ('m/models/a.json', 'm/models/b.json')"));
  EXPECT_THAT(error(TestZip().Add("m/models/a.json", json).Add("m/models/a.json", json)),
              HasSubstr("holds 2 programs"));
  EXPECT_THAT(error(TestZip().Add("archive/data.pkl", "").Add("archive/data/0", "")),
              HasSubstr("a PyTorch checkpoint"));
  EXPECT_THAT(error(TestZip().Add("m/data.pkl", "").Add("m/code/m.py", "")),
              HasSubstr("TorchScript"));
  EXPECT_THAT(error(TestZip().Add("m/data/aotinductor/model/a.so", "")), HasSubstr("AOTInductor"));
  EXPECT_THAT(error(TestZip().Add("../../etc/passwd", "")),
              HasSubstr("without an exported program"));
  EXPECT_THAT(error(TestZip().Add("m/models/model.json", "{\"graph_module\": ")),
              HasSubstr("no valid JSON"));
  EXPECT_THAT(error(TestZip().Add("m/models/model.json", "[1]")), HasSubstr("no exported program"));
  EXPECT_THAT(error(TestZip().Add("m/models/model.json", "x").Size(1ULL << 31)),
              HasSubstr("we read up to"));
}

}  // namespace
}  // namespace sharewell::graph::pt2
