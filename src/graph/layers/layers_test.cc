#include "graph/layers/layers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sharewell::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Graph Read(const std::string& json, const Binding& binding = {}) {
  auto graph = ReadLayers(json, "net.json", binding);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph{};
}
// A list of layers on an image, without the braces around.
std::string Image(const std::string& layers) {
  return fmt::format(
      R"({{"schema":1,"inputs":[{{"name":"x","shape":["batch",3,224,224]}}],"layers":[{}]}})",
      layers);
}
std::string Tokens(const std::string& layers) {
  return fmt::format(
      R"({{"inputs":[{{"name":"ids","shape":["batch",200],"dtype":"int64"}}],"layers":[{}]}})",
      layers);
}
std::string ErrorOf(const std::string& json, const Binding& binding = {}) {
  const auto graph = ReadLayers(json, "net.json", binding);
  return graph ? "read" : graph.error().message;
}
Dims Out(const Graph& graph) {
  return graph.outputs.empty() ? Dims{}
                               : *graph.tensors[static_cast<std::size_t>(graph.outputs[0])].dims;
}
Dims OutOf(const std::string& layers) { return Out(Read(Image(layers))); }
double Params(const Graph& graph) {
  double params = 0;
  for (const Tensor& tensor : graph.tensors)
    params += tensor.role == Role::kWeight ? Elements(tensor) : 0;
  return params;
}
double Macs(const Graph& graph) {
  double macs = 0;
  for (const Op& op : graph.ops) macs += op.macs;
  return macs;
}

// torchvision's resnet18, as a script would write it.
std::string Resnet18() {
  const auto block = [](const std::string& name, int out, int stride, bool narrow) {
    std::string text = fmt::format(
        R"({{"type":"conv2d","out_channels":{0},"kernel":3,"stride":{1},"padding":1,"bias":false}},
           {{"type":"batchnorm"}},{{"type":"relu"}},
           {{"type":"conv2d","out_channels":{0},"kernel":3,"padding":1,"bias":false}},
           {{"type":"batchnorm","name":"{2}-main"}},)",
        out, stride, name);
    if (narrow) {
      text += fmt::format(
          R"({{"type":"conv2d","from":"start","out_channels":{},"kernel":1,"stride":{},"bias":false}},
             {{"type":"batchnorm"}},{{"type":"add","with":"{}-main"}},)",
          out, stride, name);
    } else {
      text += R"({"type":"add","with":"start"},)";
    }
    return fmt::format(
        R"({{"type":"repeat","times":1,"name":"{}","layers":[{}{{"type":"relu"}}]}})", name, text);
  };
  std::string layers =
      R"({"type":"conv2d","out_channels":64,"kernel":7,"stride":2,"padding":3,"bias":false},
    {"type":"batchnorm"},{"type":"relu"},{"type":"maxpool","kernel":3,"stride":2,"padding":1},)";
  int stage = 0;
  for (const int out : {64, 128, 256, 512}) {
    ++stage;
    layers += block(fmt::format("{}a", stage), out, stage == 1 ? 1 : 2, stage > 1) + ",";
    layers += block(fmt::format("{}b", stage), out, 1, false) + ",";
  }
  return Image(layers + R"({"type":"globalpool"},{"type":"flatten"},{"type":"linear","out":1000})");
}

TEST(Layers, DescribeAResidualNetwork) {
  const Graph graph = Read(Resnet18(), {.batch = 2, .named = {}});
  EXPECT_EQ(graph.format, "layer list");
  EXPECT_EQ(graph.batch, 2);
  EXPECT_EQ(Params(graph), 11'689'512);  // as torchvision states
  EXPECT_NEAR(Macs(graph) / 2, 1.814e9, 0.001e9);
  EXPECT_EQ(Out(graph), (Dims{2, 1000}));
  EXPECT_EQ(graph.inputs.size(), 1U);
}

TEST(Layers, DescribeATransformer) {
  const Graph graph = Read(Tokens(R"({"type":"embedding","rows":10000,"dim":256},
    {"type":"repeat","name":"block","times":2,"layers":[
      {"type":"attention","heads":8},{"type":"add","with":"start"},{"type":"layernorm","name":"n"},
      {"type":"linear","out":1024},{"type":"relu"},{"type":"linear","out":256},{"type":"add","with":"n"},
      {"type":"layernorm"}]},
    {"type":"mean","dims":1},{"type":"linear","out":2})"));
  const double layer = 200 * (4 * 256 * 256 + 2 * 256 * 1024) + 2.0 * 200 * 200 * 256;
  EXPECT_EQ(Macs(graph), 2 * layer + 2 * 256) << "as enc_256x2 has";
  EXPECT_EQ(Params(graph), 10000 * 256 +
                               2 * (4 * (256 * 256 + 256) + 2 * 256 * 1024 + 1024 + 256 + 4 * 256) +
                               2 * 256 + 2);
  EXPECT_EQ(Out(graph), (Dims{1, 2}));
}

TEST(Layers, DescribeARecurrentNetwork) {
  const Graph graph = Read(Tokens(R"({"type":"embedding","rows":10000,"dim":256},
    {"type":"lstm","hidden":512,"layers":2,"bidirectional":true},{"type":"select","dim":1},{"type":"linear","out":2})"));
  EXPECT_EQ(Macs(graph),
            200.0 * 2 * 2048 * (256 + 512) + 200.0 * 2 * 2048 * (1024 + 512) + 2 * 1024);
  EXPECT_EQ(graph.ops[1].steps, 200);
  EXPECT_EQ(Out(graph), (Dims{1, 2}));
}

TEST(Layers, HaveTheShapesOfPyTorch) {
  EXPECT_EQ(OutOf(R"({"type":"conv2d","out_channels":8,"kernel":[3,5],"padding":"same"})"),
            (Dims{1, 8, 224, 224}));
  EXPECT_EQ(
      OutOf(R"({"type":"conv2d","out_channels":6,"kernel":3,"stride":2,"dilation":2,"groups":3})"),
      (Dims{1, 6, 110, 110}));
  EXPECT_EQ(OutOf(R"({"type":"deconv2d","out_channels":6,"kernel":4,"stride":2,"padding":1})"),
            (Dims{1, 6, 448, 448}));
  EXPECT_EQ(OutOf(R"({"type":"avgpool","kernel":2})"), (Dims{1, 3, 112, 112}));
  EXPECT_EQ(OutOf(R"({"type":"globalpool","out":7})"), (Dims{1, 3, 7, 7}));
  EXPECT_EQ(OutOf(R"({"type":"upsample"})"), (Dims{1, 3, 448, 448}));
  EXPECT_EQ(OutOf(R"({"type":"concat","with":["x","x"]})"), (Dims{1, 9, 224, 224}));
  EXPECT_EQ(OutOf(R"({"type":"flatten","start":2},{"type":"permute","order":[0,2,1]})"),
            (Dims{1, 50176, 3}));
  EXPECT_EQ(OutOf(R"({"type":"reshape","shape":[3,-1,8]})"), (Dims{3, 6272, 8}));
  EXPECT_EQ(OutOf(R"({"type":"mean","dims":[2,3]})"), (Dims{1, 3}));
  EXPECT_EQ(OutOf(R"({"type":"globalpool"},{"type":"mul","with":"x"})"), (Dims{1, 3, 224, 224}))
      << "broadcast";
}

TEST(Layers, TakeOpenDimensionsFromTheBinding) {
  const std::string json =
      R"({"inputs":[{"name":"x","shape":["batch","steps",8]}],"layers":[{"type":"gru","hidden":4}]})";
  EXPECT_EQ(Out(Read(json, {.batch = 2, .named = {{"steps", 9}}})), (Dims{2, 9, 4}));
  EXPECT_EQ(ErrorOf(json),
            "net.json: inputs[0]: shape: leaves 'steps' open; bind it, as in --bind steps=128");
  EXPECT_THAT(ErrorOf(json, {.batch = 2, .named = {{"steps", 9}, {"seq", 1}}}),
              HasSubstr("has no open dimension 'seq'; it has 'steps'"));
  EXPECT_THAT(ErrorOf(json, {.batch = 2, .named = {{"steps", 0}}}),
              HasSubstr("cannot have 0 as 'steps'"));
}

TEST(Layers, EveryTypeIsKnownToTheReader) {
  for (const std::string& type : LayerTypes()) {
    EXPECT_THAT(ErrorOf(Image(fmt::format(R"({{"type":"{}","strange":1}})", type))),
                HasSubstr("'strange' is no key of"))
        << type;
  }
}

TEST(Layers, SayWhichLayerIsWrongAndWhy) {
  EXPECT_EQ(
      ErrorOf(Image(R"({"type":"relu"},{"type":"conv2d","out_channels":8})")),
      "net.json: layers[1] (conv2d): kernel: is missing; give a whole number from 1 to 65536");
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2"})")),
              AllOf(HasSubstr("layers[0]: 'type' 'conv2' is no layer we know; we know conv1d"),
                    HasSubstr("; did you mean 'conv2d'?")));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"linear","ouput":3})")),
              AllOf(HasSubstr("'ouput' is no key of linear; its keys are"),
                    HasSubstr("; did you mean 'out'?")));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"add","with":"y"})")),
              HasSubstr("with: names 'y', but no layer or input before it"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"add"})")), HasSubstr("with: is missing"));
  EXPECT_THAT(
      ErrorOf(Image(R"({"type":"lstm","hidden":3})")),
      HasSubstr(
          "needs an input of 3 dimensions, [batch, steps, features], but gets [1, 3, 224, 224]"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2d","out_channels":8,"kernel":300})")),
              HasSubstr("would turn [1, 3, 224, 224] into [1, 8, 0, 0]"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2d","out_channels":8,"kernel":3,"groups":2})")),
              HasSubstr("groups: is 2, which must divide the 3 channels"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2d","out_channels":8,"kernel":[3,3,3]})")),
              HasSubstr("a list of 2, not of 3"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2d","out_channels":8,"kernel":0})")),
              HasSubstr("kernel: 0 is not from 1 to 65536"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"conv2d","out_channels":8,"kernel":3,"padding":"valid"})")),
              HasSubstr("padding: must be"));
  EXPECT_THAT(
      ErrorOf(Tokens(R"({"type":"embedding","rows":10,"dim":6},{"type":"attention","heads":4})")),
      HasSubstr("heads: is 4, which does not divide the 6 features"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"reshape","shape":[-1,7,11]})")),
              HasSubstr("shape: must hold as many elements"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"permute","order":[0,0,1,2]})")),
              HasSubstr("each of the 4 dimensions once"));
  EXPECT_THAT(ErrorOf(Image(R"({"type":"relu","name":"start"})")), HasSubstr("name: must be"));
  EXPECT_THAT(ErrorOf(Image("3")), HasSubstr("layers[0]: must be an object with a type"));
  EXPECT_THAT(
      ErrorOf(Image(R"({"type":"repeat","times":2,"layers":[{"type":"linear","out":-1}]})")),
      HasSubstr("layers[0].layers[0] (linear): out: -1 is not from 1"));
}

TEST(Layers, RefuseFilesThatAreNoLists) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is no layer list"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf(R"({"layers":[]})"), HasSubstr("inputs: must be a list"));
  EXPECT_THAT(ErrorOf(R"({"inputs":[{"shape":[1]}],"layers":[]})"),
              HasSubstr("layers: must be a list of at least one layer"));
  EXPECT_THAT(ErrorOf(R"({"schema":2,"inputs":[],"layers":[]})"),
              HasSubstr("schema: 2 is not from 1 to 1"));
  EXPECT_THAT(ErrorOf(R"({"inputs":[{"shape":[0]}],"layers":[{"type":"relu"}]})"),
              HasSubstr("shape: has a size"));
  EXPECT_THAT(ErrorOf(R"({"inputs":[{"shape":[2],"dtype":"int3"}],"layers":[{"type":"relu"}]})"),
              HasSubstr("dtype: is 'int3'"));
}

TEST(Layers, RepeatsAreBounded) {
  std::string layers = R"({"type":"relu"})";
  for (int i = 0; i < 7; ++i)
    layers = fmt::format(R"({{"type":"repeat","times":20000,"layers":[{}]}})", layers);
  EXPECT_THAT(ErrorOf(Image(layers)), HasSubstr("the most we read"));
  for (int i = 0; i < 3; ++i)
    layers = fmt::format(R"({{"type":"repeat","times":1,"layers":[{}]}})", layers);
  EXPECT_THAT(ErrorOf(Image(layers)), HasSubstr("repeats deep"));
  layers =
      R"({"type":"upsample","scale":65536},{"type":"upsample","scale":65536},{"type":"upsample","scale":65536})";
  EXPECT_THAT(ErrorOf(Image(layers)), HasSubstr("which no tensor can be"));
}

}  // namespace
}  // namespace sharewell::graph
