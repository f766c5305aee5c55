// GPT-2, GPT-Neo and OPT: decoders with a table of positions.
#include <utility>

#include "graph/huggingface/family.h"

namespace sharewell::graph::huggingface {
namespace {

using Affine = Builder::Affine;

struct Shape {
  std::int64_t vocabulary = 1, width = 1, layers = 1, heads = 1, inner = 1;
  std::int64_t positions = 1;  // tokens that have one
  std::int64_t unused = 0;     // rows of the table before them
  std::int64_t embedding = 1;  // OPT-350M: words are narrower than the layers
  double dropout = 0, embedding_dropout = 0;
  std::string activation;
  bool fused = false;  // one product for queries, keys and values
  bool qkv_bias = true;
  bool norm_first = true;  // OPT-350M normalises after
  bool tied = true;
};

Shape ReadShape(const Request& request, json::Reader& keys) {
  const bool gpt2 = request.type == "gpt2";
  const bool opt = request.type == "opt";
  const auto usual = [&](std::int64_t value) { return gpt2 ? std::optional(value) : std::nullopt; };
  Shape s;
  s.vocabulary = keys.WholeOr("vocab_size", opt ? 50272 : 50257, kRows);
  s.width = WholeOf(keys, {"n_embd", "hidden_size"}, kWidth, usual(768));
  s.layers = WholeOf(keys, {"n_layer", "num_layers", "num_hidden_layers"}, kLayers, usual(12));
  s.heads = WholeOf(keys, {"n_head", "num_heads", "num_attention_heads"}, kHeads, usual(12));
  s.inner = WholeOf(keys, {"n_inner", "intermediate_size", "ffn_dim"}, kInner, 4 * s.width);
  s.positions =
      WholeOf(keys, {"n_positions", "max_position_embeddings", "n_ctx"}, kRows, opt ? 2048 : 1024);
  s.unused = opt ? 2 : 0;
  s.embedding = opt ? keys.WholeOr("word_embed_proj_dim", s.width, kWidth) : s.width;
  s.dropout = keys.NumberOr(gpt2  ? "resid_pdrop"
                            : opt ? "dropout"
                                  : "resid_dropout",
                            request.type == "gpt_neo" ? 0 : 0.1, {0, 1});
  s.embedding_dropout =
      opt ? 0 : keys.NumberOr(gpt2 ? "embd_pdrop" : "embed_dropout", gpt2 ? 0.1 : 0, {0, 1});
  s.activation = keys.TextOr("activation_function", opt ? "relu" : "gelu_new");
  s.fused = gpt2;
  s.qkv_bias = request.type != "gpt_neo";
  s.norm_first = !opt || keys.FlagOr("do_layer_norm_before", true);
  s.tied = keys.FlagOr("tie_word_embeddings", true);
  CheckHeads(keys, s.width, s.heads);
  return s;
}

class Gpt {
 public:
  Gpt(const Request& request, const Shape& shape, std::int64_t tokens)
      : request_(request), s_(shape), tokens_(tokens), b_("", request.batch) {}

  Graph Build() && {
    TensorId x = Embed();
    for (std::int64_t i = 0; i < s_.layers; ++i) x = Layer(x, "h." + std::to_string(i));
    if (s_.norm_first) x = Norm(x, "ln_f");
    if (s_.embedding != s_.width) x = b_.Linear(x, s_.embedding, false, "project_out");
    return std::move(b_).Finish({Heads(x)});
  }

 private:
  TensorId Norm(TensorId x, const std::string& name) {
    return b_.Norm(x, "LayerNorm", s_.width, Affine::kScaleAndShift, false, name);
  }

  TensorId Embed() {
    const TensorId ids = b_.Input("input_ids", {request_.batch, tokens_}, DType::kInt64);
    words_ = b_.Weight("wte.weight", {s_.vocabulary, s_.embedding});
    TensorId x = b_.LookUp(ids, words_, "wte");
    if (s_.embedding != s_.width) x = b_.Linear(x, s_.width, false, "project_in");
    const TensorId positions = b_.Constant("position_ids", {1, tokens_}, DType::kInt64);
    x = b_.Add(x, b_.Embedding(positions, s_.positions + s_.unused, s_.width, "wpe"), "embeddings");
    return Dropout(b_, x, s_.embedding_dropout, "drop");
  }

  TensorId Attend(TensorId x, const std::string& name) {
    std::vector<TensorId> qkv;
    if (s_.fused) {
      qkv = b_.Split(b_.Linear(x, 3 * s_.width, true, name + ".qkv"), 3, name + ".split");
    } else {
      for (const char* part : {".q", ".k", ".v"}) {
        qkv.push_back(b_.Linear(x, s_.width, s_.qkv_bias, name + part));
      }
    }
    // Local layers (GPT-Neo) mask what is far; they compute it all the same.
    const TensorId y = b_.Attention(qkv[0], qkv[1], qkv[2], s_.heads, s_.heads, tokens_, name);
    return Dropout(b_, b_.Linear(y, s_.width, true, name + ".out"), s_.dropout, name + ".dropout");
  }

  TensorId Feed(TensorId x, const std::string& name) {
    x = b_.Linear(x, s_.inner, true, name + ".fc");
    x = b_.Same(Kind::kActivation, s_.activation, x, name + ".activation");
    return Dropout(b_, b_.Linear(x, s_.width, true, name + ".proj"), s_.dropout, name + ".dropout");
  }

  TensorId Layer(TensorId x, const std::string& name) {
    if (s_.norm_first) {
      x = b_.Add(Attend(Norm(x, name + ".ln_1"), name + ".attn"), x, name + ".add_1");
      return b_.Add(x, Feed(Norm(x, name + ".ln_2"), name + ".mlp"), name + ".add_2");
    }
    x = Norm(b_.Add(Attend(x, name + ".attn"), x, name + ".add_1"), name + ".ln_1");
    return Norm(b_.Add(x, Feed(x, name + ".mlp"), name + ".add_2"), name + ".ln_2");
  }

  TensorId Heads(TensorId x) {
    return DecoderHead(b_, request_, x, s_.tied ? words_ : kAbsent, s_.vocabulary, s_.embedding,
                       "classifier");
  }

  const Request& request_;
  const Shape& s_;
  std::int64_t tokens_;
  Builder b_;
  TensorId words_ = kAbsent;
};

}  // namespace

Graph BuildGpt(const Request& request, json::Reader& keys) {
  const Shape shape = ReadShape(request, keys);
  const std::int64_t tokens = TokensOf(request, keys, 128, shape.positions, true);
  if (!keys.ok()) return {};
  return Gpt(request, shape, tokens).Build();
}

}  // namespace sharewell::graph::huggingface
