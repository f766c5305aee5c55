#include "graph/huggingface/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace sharewell::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Graph Read(const std::string& json, const Binding& binding = {}) {
  auto graph = ReadConfig(json, "config.json", binding);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph{};
}
std::string ErrorOf(const std::string& json, const Binding& binding = {}) {
  const auto graph = ReadConfig(json, "config.json", binding);
  return graph ? "read" : graph.error().message;
}
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

// Configurations as the hub has them, down to the keys that matter.
const std::string kBert =
    R"("model_type":"bert","vocab_size":30522,"hidden_size":768,"num_hidden_layers":12,
  "num_attention_heads":12,"intermediate_size":3072,"max_position_embeddings":512,"type_vocab_size":2)";
const std::string kGpt2 =
    R"("model_type":"gpt2","vocab_size":50257,"n_embd":768,"n_layer":12,"n_head":12,
  "n_positions":1024,"n_inner":null)";
const std::string kLlama = R"("model_type":"llama","vocab_size":32000,"hidden_size":4096,
  "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,
  "max_position_embeddings":4096,"hidden_act":"silu","tie_word_embeddings":false)";
const std::string kMistral = R"("model_type":"mistral","vocab_size":32000,"hidden_size":4096,
  "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
  "max_position_embeddings":32768,"sliding_window":4096)";
const std::string kVit = R"("model_type":"vit","hidden_size":768,"num_hidden_layers":12,
  "num_attention_heads":12,"intermediate_size":3072,"image_size":224,"patch_size":16)";

std::string With(const std::string& keys, const std::string& architecture,
                 const std::string& more = "") {
  return fmt::format(R"({{{},"architectures":["{}"]{}}})", keys, architecture, more);
}

TEST(Config, HasThePublishedParameters) {
  EXPECT_EQ(Params(Read("{" + kBert + "}")), 109'482'240);
  EXPECT_EQ(Params(Read(With(kBert, "BertForMaskedLM"))), 109'514'298);
  EXPECT_EQ(Params(Read(With(kBert, "BertForSequenceClassification"))), 109'483'778);
  EXPECT_EQ(Params(Read(With(kGpt2, "GPT2LMHeadModel"))), 124'439'808);
  EXPECT_EQ(Params(Read(With(kLlama, "LlamaForCausalLM"))), 6'738'415'616);
  EXPECT_EQ(Params(Read(With(kMistral, "MistralForCausalLM"))), 7'241'732'096);
  EXPECT_EQ(Params(Read(With(kVit, "ViTForImageClassification", R"(,"num_labels":1000)"))),
            86'567'656);
}

TEST(Config, KnowsTheKin) {
  const auto params = [](const std::string& keys) { return Params(Read("{" + keys + "}")); };
  EXPECT_EQ(
      params(R"("model_type":"roberta","vocab_size":50265,"hidden_size":768,"num_hidden_layers":12,
      "num_attention_heads":12,"intermediate_size":3072,"max_position_embeddings":514,"type_vocab_size":1)"),
      124'645'632);
  EXPECT_EQ(params(R"("model_type":"distilbert")"), 66'362'880);
  EXPECT_EQ(
      params(R"("model_type":"albert","vocab_size":30000,"embedding_size":128,"hidden_size":768,
      "num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072)"),
      11'683'584);
  EXPECT_EQ(
      params(R"("model_type":"electra","vocab_size":30522,"embedding_size":128,"hidden_size":256,
      "num_hidden_layers":12,"num_attention_heads":4,"intermediate_size":1024)"),
      13'483'008);
  EXPECT_EQ(
      params(R"("model_type":"deberta","vocab_size":50265,"hidden_size":768,"num_hidden_layers":12,
      "num_attention_heads":12,"intermediate_size":3072,"max_position_embeddings":512,"type_vocab_size":0,
      "relative_attention":true,"max_relative_positions":-1,"position_biased_input":false)"),
      138'601'728);
  EXPECT_EQ(
      params(
          R"("model_type":"deberta-v2","vocab_size":128100,"hidden_size":768,"num_hidden_layers":12,
      "num_attention_heads":12,"intermediate_size":3072,"max_position_embeddings":512,"type_vocab_size":0,
      "relative_attention":true,"max_relative_positions":-1,"position_buckets":256,"share_att_key":true,
      "norm_rel_ebd":"layer_norm","position_biased_input":false)"),
      183'831'552);
  EXPECT_EQ(
      params(
          R"("model_type":"gpt_neo","vocab_size":50257,"hidden_size":768,"num_layers":12,"num_heads":12,
      "max_position_embeddings":2048,"intermediate_size":null)"),
      125'198'592);
  EXPECT_EQ(
      params(R"("model_type":"opt","vocab_size":50272,"hidden_size":768,"num_hidden_layers":12,
      "num_attention_heads":12,"ffn_dim":3072,"max_position_embeddings":2048,"word_embed_proj_dim":768)"),
      125'239'296);
  EXPECT_EQ(
      params(R"("model_type":"qwen2","vocab_size":151936,"hidden_size":896,"num_hidden_layers":24,
      "num_attention_heads":14,"num_key_value_heads":2,"intermediate_size":4864,"tie_word_embeddings":true,
      "architectures":["Qwen2ForCausalLM"])"),
      494'032'768);
  EXPECT_EQ(
      params(R"("model_type":"qwen3","vocab_size":151936,"hidden_size":1024,"num_hidden_layers":28,
      "num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,"intermediate_size":3072,
      "tie_word_embeddings":true,"architectures":["Qwen3ForCausalLM"])"),
      596'049'920);
  EXPECT_EQ(
      params(R"("model_type":"gemma","vocab_size":256000,"hidden_size":2048,"num_hidden_layers":18,
      "num_attention_heads":8,"num_key_value_heads":1,"head_dim":256,"intermediate_size":16384,
      "architectures":["GemmaForCausalLM"])"),
      2'506'172'416);
  EXPECT_EQ(
      params(R"("model_type":"mixtral","vocab_size":32000,"hidden_size":4096,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"num_local_experts":8,
      "architectures":["MixtralForCausalLM"])"),
      46'702'792'704);
  EXPECT_EQ(
      params(
          R"("model_type":"t5","vocab_size":32128,"d_model":512,"d_kv":64,"d_ff":2048,"num_layers":6,
      "num_heads":8,"architectures":["T5ForConditionalGeneration"])"),
      60'506'624);
  EXPECT_EQ(
      params(
          R"("model_type":"deit","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
      "intermediate_size":3072,"num_labels":1000,
      "architectures":["DeiTForImageClassificationWithTeacher"])"),
      87'338'192);
}

TEST(Config, CountsTheArithmetic) {
  const auto bert =
      Read(With(kBert, "BertForSequenceClassification"), {.batch = 1, .named = {{"seq", 128}}});
  // 128 tokens through 12 layers (7,077,888 weights each), attention's two products, and the head.
  EXPECT_EQ(Macs(bert), 12 * (128.0 * 7'077'888 + 2 * 128 * 128 * 768) + 768 * 768 + 2 * 768);
  const auto vit = Read(With(kVit, "ViTForImageClassification", R"(,"num_labels":1000)"));
  EXPECT_NEAR(Macs(vit), 17.56e9, 0.01 * 17.56e9);
  EXPECT_EQ(Macs(Read(With(kVit, "ViTForImageClassification"), {.batch = 8, .named = {}})),
            8 * Macs(Read(With(kVit, "ViTForImageClassification"))));
  const auto mixtral =
      Read(R"({"model_type":"mixtral","vocab_size":100,"hidden_size":64,"num_hidden_layers":1,
      "num_attention_heads":4,"intermediate_size":128,"num_local_experts":8,"num_experts_per_tok":2})",
           {.batch = 1, .named = {{"seq", 10}}});
  EXPECT_EQ(Macs(mixtral), 10 * (4 * 64 * 64 + 8 * 64 + 2 * 3 * 64 * 128) + 2 * 10 * 10 * 64);
}

TEST(Config, AttentionIsOneOperator) {
  const Graph graph = Read("{" + kMistral + "}", {.batch = 2, .named = {{"seq", 8192}}});
  const auto attention = std::find_if(graph.ops.begin(), graph.ops.end(),
                                      [](const Op& op) { return op.kind == Kind::kAttention; });
  ASSERT_NE(attention, graph.ops.end());
  EXPECT_EQ(attention->macs, 2.0 * 8192 * 4096 * 4096 * 2) << "no token sees more than the window";
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(attention->inputs[1])].dims,
            (Dims{2, 8, 8192, 128}))
      << "four queries share a key";
}

TEST(Config, TheSampleIsAsLongAsBound) {
  const auto tokens = [](const Graph& graph) {
    return graph.tensors[static_cast<std::size_t>(graph.inputs[0])].dims->at(1);
  };
  EXPECT_EQ(tokens(Read("{" + kBert + "}")), 128);
  EXPECT_EQ(tokens(Read("{" + kLlama + "}")), 2048);
  EXPECT_EQ(tokens(Read("{" + kBert + "}", {.batch = 1, .named = {{"seq", 512}}})), 512);
  EXPECT_EQ(ErrorOf("{" + kBert + "}", {.batch = 1, .named = {{"seq", 513}}}),
            "config.json: seq is 513, but the model has positions for 512 tokens only; bind a "
            "smaller one, as in "
            "--bind seq=512");
  EXPECT_THAT(ErrorOf("{" + kBert + "}", {.batch = 1, .named = {{"sequence", 1}}}),
              HasSubstr("no open dimension 'sequence'; it has one, seq"));
  EXPECT_THAT(ErrorOf("{" + kVit + "}", {.batch = 1, .named = {{"seq", 1}}}),
              HasSubstr("image_size"));
  EXPECT_THAT(ErrorOf("{" + kBert + "}", {.batch = 1, .named = {{"seq", 0}}}),
              HasSubstr("seq cannot be 0"));
}

TEST(Config, SaysWhichModelsItKnows) {
  EXPECT_THAT(ErrorOf(R"({"model_type":"robeta"})"),
              AllOf(HasSubstr("'model_type' 'robeta' is none we can build; export it"),
                    HasSubstr("; did you mean 'roberta'?")));
  EXPECT_THAT(ErrorOf(R"({"hidden_size":3})"), HasSubstr("'model_type' '' is none"));
  EXPECT_THAT(ErrorOf(With(kBert, "BertForDancing")),
              HasSubstr("names 'BertForDancing', whose head we do not know"));
}

TEST(Config, NamesTheKeyThatIsWrong) {
  const auto llama = [](const std::string& key, const std::string& value) {
    std::string json = "{" + kLlama + "}";
    const auto at = json.find("\"" + key + "\":") + key.size() + 3;
    json.replace(at, json.find_first_of(",}", at) - at, value);
    return ErrorOf(json);
  };
  EXPECT_EQ(llama("hidden_size", "0"), "config.json: hidden_size: 0 is not from 1 to 1048576");
  EXPECT_THAT(llama("num_hidden_layers", "1000000000000000000"),
              HasSubstr("num_hidden_layers: 1000000000000000000 is not from 1 to 2000"));
  EXPECT_THAT(llama("num_hidden_layers", "1e18"),
              HasSubstr("num_hidden_layers: 1e+18 is no whole number"));
  EXPECT_THAT(llama("num_hidden_layers", "-3"), HasSubstr("num_hidden_layers: -3 is not"));
  EXPECT_THAT(llama("vocab_size", "18446744073709551615"),
              HasSubstr("vocab_size: 18446744073709551615 is not from 1"));
  EXPECT_THAT(llama("vocab_size", "\"many\""), HasSubstr("vocab_size: 'many' is no whole number"));
  EXPECT_THAT(llama("vocab_size", "null"), HasSubstr("vocab_size: is missing"));
  EXPECT_THAT(llama("num_attention_heads", "33"), HasSubstr("num_key_value_heads: must divide"));
  EXPECT_THAT(llama("num_key_value_heads", "5"), HasSubstr("num_key_value_heads: must divide"));
  EXPECT_THAT(
      ErrorOf(
          R"({"model_type":"bert","hidden_size":100,"num_hidden_layers":1,"num_attention_heads":3})"),
      HasSubstr("3 attention heads do not divide the hidden size 100"));
  EXPECT_THAT(ErrorOf("{" + kVit + R"(,"architectures":"ViTModel"})"),
              HasSubstr("architectures: must be a list"));
  EXPECT_THAT(ErrorOf(R"({"model_type":"vit","patch_size":300})"),
              HasSubstr("patch_size: is 300, larger than the image"));
  EXPECT_THAT(ErrorOf(R"({"model_type":"vit","image_size":[224,224,3]})"),
              HasSubstr("a list of 2"));
}

TEST(Config, SaysWhereItIsNoJson) {
  EXPECT_THAT(ErrorOf("{\n\"a\": 1,\n]"), HasSubstr("config.json: line 3: is no valid JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("a JSON object is expected"));
  EXPECT_THAT(ErrorOf(R"({"model_type": 1e999})"), HasSubstr("a number in it is out of range"));
  EXPECT_THAT(ErrorOf(std::string(100000, '[')), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf(std::string(100000, '[') + std::string(100000, ']')),
              HasSubstr("nested deeper than 1000 levels"));
}

}  // namespace
}  // namespace sharewell::graph
