#include "graph/read.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "graph/pt2/test_zip.h"

namespace sharewell::graph {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string File(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
Graph ReadFile(const std::string& path, std::int64_t batch) {
  auto graph = Read(File(path), path, {.batch = batch, .named = {}});
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph{};
}
std::string ErrorOf(const std::string& bytes, const Binding& binding = {}) {
  const auto graph = Read(bytes, "m", binding);
  return graph ? "read as " + graph->format : graph.error().message;
}
double Macs(const Graph& graph) {
  double macs = 0;
  for (const Op& op : graph.ops) macs += op.macs;
  return macs;
}
double Params(const Graph& graph) {
  double params = graph.hidden_params;
  for (const Tensor& tensor : graph.tensors)
    params += tensor.role == Role::kWeight ? Elements(tensor) : 0;
  return params;
}

TEST(Read, GoesByTheContents) {
  EXPECT_EQ(ErrorOf(File("data/h200/pt2/lstm_256x1.pt2")), "read as torch.export");
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf\n {\"model_type\": \"distilbert\"}"),
            "read as Hugging Face distilbert");
  EXPECT_EQ(ErrorOf(R"({"inputs":[{"shape":["batch",4]}],"layers":[{"type":"linear","out":2}]})"),
            "read as layer list");
  EXPECT_THAT(ErrorOf(File("data/h200/onnx/lstm_256x1.onnx")), HasSubstr("read as ONNX"));
}

// The same models, exported to both formats.
TEST(Read, Pt2AndOnnxAgree) {
  for (const char* name :
       {"bilstm_256x2", "enc_256x2", "gcn_128x3_207", "lstm_256x1", "ncf_1e6",
        "timm_mixer_s32_224_224", "tv_resnet34_224", "tv_shufflenet_v2_x0_5_224"}) {
    const Graph pt2 = ReadFile("data/h200/pt2/"s + name + ".pt2", 32);
    const Graph onnx = ReadFile("data/h200/onnx/"s + name + ".onnx", 32);
    EXPECT_NEAR(Macs(pt2) / Macs(onnx), 1, 0.0001) << name;
    // ONNX does not tell a buffer (here the adjacency matrix) from a parameter.
    const double buffers = name == "gcn_128x3_207"s ? 207 * 207 : 0;
    EXPECT_NEAR(Params(pt2) / (Params(onnx) - buffers), 1, 0.01) << name;
    for (const Op& op : pt2.ops)
      EXPECT_NE(op.kind, Kind::kUnknown) << name << ": " << op.why_unknown;
  }
}

TEST(Read, ConfigAndOnnxAgree) {
  const auto config = [](const std::string& json, std::int64_t seq) {
    const auto graph = Read(json, "config.json", {.batch = 8, .named = {{"seq", seq}}});
    EXPECT_TRUE(graph) << graph.error().message;
    return *graph;
  };
  const auto agree = [](const Graph& ours, const std::string& onnx) {
    const Graph theirs = ReadFile("data/h200/onnx/" + onnx, 8);
    EXPECT_NEAR(Macs(ours) / Macs(theirs), 1, 0.01) << onnx;
    EXPECT_NEAR(Params(ours) / Params(theirs), 1, 0.01) << onnx;
  };
  agree(
      config(
          R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
               "architectures":["BertForSequenceClassification"]})",
          128),
      "hf_bert_128.onnx");
  agree(
      config(
          R"({"model_type":"distilbert","architectures":["DistilBertForSequenceClassification"]})",
          128),
      "hf_distilbert_128.onnx");
  agree(config(R"({"model_type":"gpt2","architectures":["GPT2ForSequenceClassification"]})", 128),
        "hf_gpt2_128.onnx");
}

TEST(Read, SaysWhatAFileIsInstead) {
  const auto zip = [](const pt2::TestZip& archive) { return ErrorOf(archive.Bytes()); };
  EXPECT_EQ(ErrorOf(""), "m: is an empty file; export or download it again");
  EXPECT_THAT(ErrorOf("\x80\x02}q"), HasSubstr("a PyTorch checkpoint"));
  EXPECT_THAT(ErrorOf("\x80\x04}q"), HasSubstr("torch.onnx.export"));
  EXPECT_THAT(zip(pt2::TestZip().Add("m/data.pkl", "")), HasSubstr("a PyTorch checkpoint"));
  EXPECT_THAT(zip(pt2::TestZip().Add("m/data.pkl", "").Add("m/code/x.py", "")),
              HasSubstr("a TorchScript archive"));
  EXPECT_THAT(ErrorOf("\x02\0\0\0\0\0\0\0{}"s),
              HasSubstr("safetensors: weights without a graph; give the config.json"));
  EXPECT_THAT(ErrorOf("\x89HDF\r\n\x1a\n"), HasSubstr("HDF5, as Keras saves it"));
  EXPECT_THAT(ErrorOf("\x1f\x8b\x08"), HasSubstr("gunzip"));
  EXPECT_THAT(ErrorOf("<!DOCTYPE html>"), HasSubstr("a web page; download the file itself"));
  EXPECT_THAT(ErrorOf("version https://git-lfs.github.com/spec/v1\noid"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(ErrorOf("GGUF\x03"), HasSubstr("GGUF"));
  EXPECT_THAT(ErrorOf("\x1c\0\0\0TFL3\0"s), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(ErrorOf(R"({"metadata":{},"weight_map":{}})"),
              HasSubstr("the index of sharded weights"));
  EXPECT_THAT(ErrorOf(R"({"hidden_size":3})"), HasSubstr("without model_type"));
  EXPECT_THAT(ErrorOf(R"({"a":{"model_type":"bert"}})"),
              HasSubstr("neither a Hugging Face configuration"));
  EXPECT_THAT(ErrorOf("[1,2]"), HasSubstr("neither a Hugging Face configuration"));
  EXPECT_THAT(ErrorOf("hello, world"),
              HasSubstr("no model file that we know (it begins with 'hello, world')"));
}

TEST(Read, RefusesWhatIsTooShortForAnything) {
  for (std::size_t length = 1; length < 12; ++length) {
    for (const char c : {'\0', '\x08', 'P', '{', ' ', '\x7f'}) {
      EXPECT_THAT(ErrorOf(std::string(length, c)), HasSubstr("m: "));
    }
  }
}

TEST(Read, RefusesBatchesThatNobodyHas) {
  const std::string bytes = R"({"model_type":"distilbert"})";
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{1} << 40}) {
    EXPECT_THAT(ErrorOf(bytes, {.batch = batch, .named = {}}),
                HasSubstr("cannot be read for a batch of"));
  }
}

}  // namespace
}  // namespace sharewell::graph
