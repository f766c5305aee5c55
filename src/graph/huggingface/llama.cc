// Llama and what followed it: decoders with rotary positions, RMS normalisation and gated layers;
// Mistral's window, Mixtral's experts, Qwen's biases, Gemma's wide heads.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/huggingface/family.h"

namespace sharewell::graph::huggingface {
namespace {

using Affine = Builder::Affine;

struct Shape {
  std::int64_t vocabulary = 1, width = 1, layers = 1, heads = 1, kv_heads = 1, head = 1, inner = 1;
  std::int64_t positions = 1, window = 0;      // 0: every token sees all before it
  std::int64_t experts = 0, experts_used = 0;  // 0: one feed-forward for all tokens
  std::string activation;
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool head_norms = false;  // Qwen 3
  bool scaled = false;      // Gemma multiplies its embeddings
  bool tied = false;
};

Shape ReadShape(const Request& request, json::Reader& keys) {
  const std::string& type = request.type;
  Shape s;
  s.vocabulary = keys.NeedWhole("vocab_size", kRows);
  s.width = keys.NeedWhole("hidden_size", kWidth);
  s.layers = keys.NeedWhole("num_hidden_layers", kLayers);
  s.heads = keys.NeedWhole("num_attention_heads", kHeads);
  s.kv_heads = keys.WholeOr("num_key_value_heads", s.heads, kHeads);
  if (s.heads % s.kv_heads != 0) {
    keys.Fail("num_key_value_heads",
              fmt::format("must divide num_attention_heads: {} into {}", s.kv_heads, s.heads));
  }
  if (!keys.Has("head_dim")) CheckHeads(keys, s.width, s.heads);
  s.head = keys.WholeOr("head_dim", std::max<std::int64_t>(1, s.width / s.heads), kWidth);
  s.inner = keys.NeedWhole("intermediate_size", kInner);
  s.positions = keys.WholeOr("max_position_embeddings", 2048, kRows);
  const bool windows =
      type == "mistral" || type == "mixtral" || keys.FlagOr("use_sliding_window", false);
  if (windows) s.window = keys.WholeOr("sliding_window", 0, {0, kRows.most});
  s.activation = keys.TextOr("hidden_act", "silu");
  const bool bias = keys.FlagOr("attention_bias", false);
  s.qkv_bias = bias || type == "qwen2";
  s.out_bias = bias;
  s.mlp_bias = keys.FlagOr("mlp_bias", false);
  s.head_norms = type == "qwen3";
  s.scaled = type == "gemma";
  s.tied = keys.FlagOr("tie_word_embeddings", type == "gemma");
  if (type == "mixtral") {
    s.experts = keys.WholeOr("num_local_experts", 8, {1, 1 << 16});
    s.experts_used =
        keys.WholeOr("num_experts_per_tok", std::min<std::int64_t>(2, s.experts), {1, s.experts});
  }
  return s;
}

class Llama {
 public:
  Llama(const Request& request, const Shape& shape, std::int64_t tokens)
      : request_(request), s_(shape), tokens_(tokens), b_("", request.batch) {}

  Graph Build() && {
    const TensorId ids = b_.Input("input_ids", {request_.batch, tokens_}, DType::kInt64);
    words_ = b_.Weight("embed_tokens.weight", {s_.vocabulary, s_.width});
    TensorId x = b_.LookUp(ids, words_, "embed_tokens");
    if (s_.scaled) x = b_.Same(Kind::kElementwise, "Mul", x, "embed_tokens.scale");
    rotation_ = b_.Constant("rotary", {1, tokens_, s_.head});
    for (std::int64_t i = 0; i < s_.layers; ++i) x = Layer(x, "layers." + std::to_string(i));
    return std::move(b_).Finish({Heads(Norm(x, s_.width, "norm"))});
  }

 private:
  TensorId Norm(TensorId x, std::int64_t width, const std::string& name) {
    return b_.Norm(x, "RMSNorm", width, Affine::kScale, false, name);
  }

  // x cos + rotate_half(x) sin: the half is turned by a copy.
  TensorId Rotate(TensorId x, const std::string& name) {
    const TensorId turned = b_.Same(Kind::kMove, "RotateHalf", x, name + ".rotate");
    return b_.Apply(Kind::kElementwise, "Rotary", {x, turned, rotation_}, b_.dims(x),
                    name + ".rotary");
  }

  TensorId Attend(TensorId x, const std::string& name) {
    TensorId q = b_.Linear(x, s_.heads * s_.head, s_.qkv_bias, name + ".q_proj");
    TensorId k = b_.Linear(x, s_.kv_heads * s_.head, s_.qkv_bias, name + ".k_proj");
    const TensorId v = b_.Linear(x, s_.kv_heads * s_.head, s_.qkv_bias, name + ".v_proj");
    if (s_.head_norms) {
      q = Norm(q, s_.head, name + ".q_norm");
      k = Norm(k, s_.head, name + ".k_norm");
    }
    q = Rotate(q, name + ".q");
    k = Rotate(k, name + ".k");
    const std::int64_t seen = s_.window > 0 ? std::min(s_.window, tokens_) : tokens_;
    const TensorId y = b_.Attention(q, k, v, s_.heads, s_.kv_heads, seen, name);
    return b_.Linear(y, s_.width, s_.out_bias, name + ".o_proj");
  }

  TensorId Feed(TensorId x, const std::string& name) {
    const TensorId gate = b_.Linear(x, s_.inner, s_.mlp_bias, name + ".gate_proj");
    const TensorId up = b_.Linear(x, s_.inner, s_.mlp_bias, name + ".up_proj");
    const TensorId opened = b_.Same(Kind::kActivation, s_.activation, gate, name + ".activation");
    const TensorId gated =
        b_.Apply(Kind::kElementwise, "Mul", {opened, up}, b_.dims(up), name + ".mul");
    return b_.Linear(gated, s_.width, s_.mlp_bias, name + ".down_proj");
  }

  // Every token goes through experts_used of the experts: the arithmetic of those, the weights of
  // all.
  TensorId Experts(TensorId x, const std::string& name) {
    const TensorId router = b_.Linear(x, s_.experts, false, name + ".gate");
    const TensorId chosen = b_.Same(Kind::kSoftmax, "Softmax", router, name + ".softmax");
    const Dims wide = {request_.batch, tokens_, s_.experts_used, s_.inner};
    const Dims narrow = {request_.batch, tokens_, s_.experts_used, s_.width};
    const double macs = static_cast<double>(request_.batch) * static_cast<double>(tokens_) *
                        static_cast<double>(s_.experts_used) * static_cast<double>(s_.inner) *
                        static_cast<double>(s_.width);
    const TensorId sent = b_.Apply(Kind::kMove, "Gather", {x, chosen}, narrow, name + ".dispatch");
    const auto expert = [&](TensorId in, const Dims& out, const char* weight, Dims shape) {
      const TensorId weights = b_.Weight(name + ".experts." + weight, std::move(shape));
      return b_.Product(in, weights, out, macs, name + ".experts." + weight);
    };
    const TensorId gate = expert(sent, wide, "w1", {s_.experts, s_.inner, s_.width});
    const TensorId up = expert(sent, wide, "w3", {s_.experts, s_.inner, s_.width});
    const TensorId opened = b_.Same(Kind::kActivation, s_.activation, gate, name + ".activation");
    const TensorId gated = b_.Apply(Kind::kElementwise, "Mul", {opened, up}, wide, name + ".mul");
    const TensorId down = expert(gated, narrow, "w2", {s_.experts, s_.width, s_.inner});
    return b_.Apply(Kind::kReduction, "Sum", {down, chosen}, b_.dims(x), name + ".combine");
  }

  TensorId Layer(TensorId x, const std::string& name) {
    const TensorId first = Norm(x, s_.width, name + ".input_layernorm");
    x = b_.Add(x, Attend(first, name + ".self_attn"), name + ".add_1");
    const TensorId second = Norm(x, s_.width, name + ".post_attention_layernorm");
    const TensorId y =
        s_.experts > 0 ? Experts(second, name + ".moe") : Feed(second, name + ".mlp");
    return b_.Add(x, y, name + ".add_2");
  }

  TensorId Heads(TensorId x) {
    return DecoderHead(b_, request_, x, s_.tied ? words_ : kAbsent, s_.vocabulary, s_.width,
                       "score");
  }

  const Request& request_;
  const Shape& s_;
  std::int64_t tokens_;
  Builder b_;
  TensorId words_ = kAbsent;
  TensorId rotation_ = kAbsent;
};

}  // namespace

Graph BuildLlama(const Request& request, json::Reader& keys) {
  const Shape shape = ReadShape(request, keys);
  // Rotary positions are computed, not stored: longer samples than trained on do run.
  const std::int64_t tokens = TokensOf(request, keys, 2048, shape.positions, false);
  if (!keys.ok()) return {};
  return Llama(request, shape, tokens).Build();
}

}  // namespace sharewell::graph::huggingface
