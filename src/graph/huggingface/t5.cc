// T5: an encoder, and a decoder that also looks at what the encoder made.
#include <utility>

#include "graph/huggingface/family.h"

namespace sharewell::graph::huggingface {
namespace {

struct Shape {
  std::int64_t vocabulary = 1, width = 1, layers = 1, decoder_layers = 1, heads = 1, head = 1;
  std::int64_t inner = 1, buckets = 32;
  double dropout = 0.1;
  std::string activation = "relu";
  bool gated = false;
  bool tied = true;
};

Shape ReadShape(json::Reader& keys) {
  Shape s;
  s.vocabulary = keys.WholeOr("vocab_size", 32128, kRows);
  s.width = keys.NeedWhole("d_model", kWidth);
  s.layers = keys.NeedWhole("num_layers", kLayers);
  s.decoder_layers = keys.WholeOr("num_decoder_layers", s.layers, kLayers);
  s.heads = keys.NeedWhole("num_heads", kHeads);
  s.head = keys.WholeOr("d_kv", 64, kWidth);
  s.inner = keys.NeedWhole("d_ff", kInner);
  s.buckets = keys.WholeOr("relative_attention_num_buckets", 32, {1, 1 << 20});
  s.dropout = keys.NumberOr("dropout_rate", 0.1, {0, 1});
  s.activation = keys.TextOr("feed_forward_proj", "relu");
  s.gated = s.activation.starts_with("gated-");
  if (s.gated) s.activation = s.activation.substr(6);
  s.tied = keys.FlagOr("tie_word_embeddings", true);
  return s;
}

class T5 {
 public:
  T5(const Request& request, const Shape& shape, std::int64_t tokens, std::int64_t target)
      : request_(request), s_(shape), tokens_(tokens), target_(target), b_("", request.batch) {}

  Graph Build() && {
    const TensorId ids = b_.Input("input_ids", {request_.batch, tokens_}, DType::kInt64);
    const TensorId target_ids =
        b_.Input("decoder_input_ids", {request_.batch, target_}, DType::kInt64);
    words_ = b_.Weight("shared.weight", {s_.vocabulary, s_.width});
    const TensorId encoded = Stack(ids, s_.layers, kAbsent, "encoder");
    TensorId x = Stack(target_ids, s_.decoder_layers, encoded, "decoder");
    if (request_.head == Head::kConditionalGeneration || request_.head == Head::kCausalLm) {
      // A tied head is scaled to the width of the model first.
      if (s_.tied) x = b_.Same(Kind::kElementwise, "Mul", x, "lm_head.scale");
      const TensorId table =
          s_.tied ? words_ : b_.Weight("lm_head.weight", {s_.vocabulary, s_.width});
      x = b_.LinearWith(x, table, kAbsent, "lm_head");
    }
    return std::move(b_).Finish({x});
  }

 private:
  TensorId Norm(TensorId x, const std::string& name) {
    return b_.Norm(x, "RMSNorm", s_.width, Builder::Affine::kScale, false, name);
  }

  TensorId Attend(TensorId x, TensorId over, TensorId bias, const std::string& name) {
    const TensorId q = b_.Linear(x, s_.heads * s_.head, false, name + ".q");
    const TensorId k = b_.Linear(over, s_.heads * s_.head, false, name + ".k");
    const TensorId v = b_.Linear(over, s_.heads * s_.head, false, name + ".v");
    const TensorId y = b_.Attention(q, k, v, s_.heads, s_.heads, b_.dims(over)[1], name, bias);
    return Dropout(b_, b_.Linear(y, s_.width, false, name + ".o"), s_.dropout, name + ".dropout");
  }

  TensorId Feed(TensorId x, const std::string& name) {
    TensorId y = b_.Same(Kind::kActivation, s_.activation,
                         b_.Linear(x, s_.inner, false, name + ".wi"), name + ".activation");
    if (s_.gated) {
      const TensorId linear = b_.Linear(x, s_.inner, false, name + ".wi_1");
      y = b_.Apply(Kind::kElementwise, "Mul", {y, linear}, b_.dims(y), name + ".mul");
    }
    y = Dropout(b_, y, s_.dropout, name + ".dropout1");
    return Dropout(b_, b_.Linear(y, s_.width, false, name + ".wo"), s_.dropout, name + ".dropout2");
  }

  TensorId Stack(TensorId ids, std::int64_t layers, TensorId encoded, const std::string& name) {
    const std::int64_t length = b_.dims(ids)[1];
    TensorId x =
        Dropout(b_, b_.LookUp(ids, words_, name + ".embed"), s_.dropout, name + ".dropout");
    // One table of biases by distance, looked up once for all layers.
    const TensorId distances = b_.Constant(name + ".distances", {length, length}, DType::kInt64);
    TensorId bias = b_.Embedding(distances, s_.buckets, s_.heads, name + ".relative_bias");
    bias = b_.Apply(Kind::kView, "Permute", {bias}, {1, s_.heads, length, length}, name + ".bias");
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string layer = name + ".block." + std::to_string(i);
      const TensorId first = Norm(x, layer + ".self.norm");
      x = b_.Add(x, Attend(first, first, bias, layer + ".self"), layer + ".self.add");
      if (encoded != kAbsent) {
        x = b_.Add(x, Attend(Norm(x, layer + ".cross.norm"), encoded, kAbsent, layer + ".cross"),
                   layer + ".cross.add");
      }
      x = b_.Add(x, Feed(Norm(x, layer + ".feed.norm"), layer + ".feed"), layer + ".feed.add");
    }
    return Dropout(b_, Norm(x, name + ".norm"), s_.dropout, name + ".last_dropout");
  }

  const Request& request_;
  const Shape& s_;
  std::int64_t tokens_, target_;
  Builder b_;
  TensorId words_ = kAbsent;
};

}  // namespace

Graph BuildT5(const Request& request, json::Reader& keys) {
  const Shape shape = ReadShape(keys);
  const std::int64_t most = keys.WholeOr("n_positions", 512, kRows);
  const std::int64_t tokens = TokensOf(request, keys, 128, most, false);
  if (!keys.ok()) return {};
  return T5(request, shape, tokens, request.target.value_or(tokens)).Build();
}

}  // namespace sharewell::graph::huggingface
