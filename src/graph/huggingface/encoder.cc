// BERT and its kin: embeddings, post-norm layers that see all tokens, and a head.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/huggingface/family.h"

namespace sharewell::graph::huggingface {
namespace {

using Affine = Builder::Affine;

// What the members of the family differ in.
struct Shape {
  std::int64_t vocabulary = 1, width = 1, layers = 1, heads = 1, inner = 1;
  std::int64_t positions = 1, types = 0, embedding = 1;
  std::int64_t groups = 0, in_group = 1;  // ALBERT: layers that share weights; 0: none do
  std::int64_t relative = 0;              // DeBERTa: rows of its table of relative positions
  double dropout = 0;
  std::string activation;
  bool position_table = true;  // positions are added to the words
  bool pooler = false;         // the bare model ends in one
  bool own_positions = false;  // DeBERTa 1: projections for positions of their own
  bool relative_norm = false;
  bool tied = true;
};

Shape ReadShape(const Request& request, json::Reader& keys) {
  const std::string& type = request.type;
  const bool distil = type == "distilbert";
  const bool deberta = type.starts_with("deberta");
  Shape s;
  s.vocabulary = keys.WholeOr("vocab_size", 30522, kRows);
  s.width =
      WholeOf(keys, {"hidden_size", "dim"}, kWidth, distil ? 768 : std::optional<std::int64_t>());
  s.layers = WholeOf(keys, {"num_hidden_layers", "n_layers"}, kLayers,
                     distil ? 6 : std::optional<std::int64_t>());
  s.heads = WholeOf(keys, {"num_attention_heads", "n_heads"}, kHeads,
                    distil ? 12 : std::optional<std::int64_t>());
  s.inner = WholeOf(keys, {"intermediate_size", "hidden_dim"}, kInner, 4 * s.width);
  s.positions = keys.WholeOr("max_position_embeddings", 512, kRows);
  s.types = distil ? 0 : keys.WholeOr("type_vocab_size", deberta ? 0 : 2, {0, 1 << 20});
  s.embedding =
      keys.WholeOr("embedding_size", type == "albert" || type == "electra" ? 128 : s.width, kWidth);
  s.dropout =
      keys.NumberOr(distil ? "dropout" : "hidden_dropout_prob", type == "albert" ? 0 : 0.1, {0, 1});
  s.activation = keys.TextOr(distil ? "activation" : "hidden_act", "gelu");
  s.pooler = type == "bert" || type == "roberta" || type == "xlm-roberta" || type == "albert";
  s.tied = keys.FlagOr("tie_word_embeddings", true);
  if (type == "albert") {
    s.groups = keys.WholeOr("num_hidden_groups", 1, {1, s.layers});
    s.in_group =
        keys.WholeOr("inner_group_num", 1, {1, std::max<std::int64_t>(1, kLayers.most / s.layers)});
  }
  if (deberta) {
    s.position_table = keys.FlagOr("position_biased_input", true);
    const bool relative = keys.FlagOr("relative_attention", false);
    const std::int64_t buckets = keys.WholeOr("position_buckets", -1, {-1, 1 << 24});
    const std::int64_t most = keys.WholeOr("max_relative_positions", -1, {-1, 1 << 24});
    if (relative) s.relative = 2 * (buckets > 0 ? buckets : most > 0 ? most : s.positions);
    s.own_positions = type == "deberta" || !keys.FlagOr("share_att_key", false);
    s.relative_norm = keys.TextOr("norm_rel_ebd", "none").find("layer_norm") != std::string::npos;
  }
  CheckHeads(keys, s.width, s.heads);
  return s;
}

// Weights of one layer. ALBERT's layers share theirs; the others have them made as they go.
struct Dense {
  TensorId weight = kAbsent, bias = kAbsent;
};
struct LayerWeights {
  Dense query, key, value, output, up, down;
  TensorId norm[4] = {kAbsent, kAbsent, kAbsent, kAbsent};  // scale and shift, twice
  Dense position_key, position_query;
};

class Encoder {
 public:
  Encoder(const Request& request, const Shape& shape, std::int64_t tokens)
      : request_(request), s_(shape), tokens_(tokens), b_("", request.batch) {}

  Graph Build() && {
    TensorId x = Embed();
    std::vector<LayerWeights> shared;
    for (std::int64_t i = 0; i < s_.groups * s_.in_group; ++i) {
      shared.push_back(Weights("encoder.group." + std::to_string(i)));
    }
    for (std::int64_t i = 0; i < s_.layers; ++i) {
      const std::string name = "encoder.layer." + std::to_string(i);
      if (s_.groups == 0) {
        x = Layer(x, Weights(name), name);
        continue;
      }
      const std::int64_t group = i * s_.groups / s_.layers;
      for (std::int64_t j = 0; j < s_.in_group; ++j) {
        x = Layer(x, shared[static_cast<std::size_t>(group * s_.in_group + j)], name);
      }
    }
    return std::move(b_).Finish(Heads(x));
  }

 private:
  Dense MakeDense(std::int64_t in, std::int64_t out, const std::string& name, bool bias = true) {
    Dense dense;
    dense.weight = b_.Weight(name + ".weight", {out, in});
    if (bias) dense.bias = b_.Weight(name + ".bias", {out});
    return dense;
  }

  LayerWeights Weights(const std::string& name) {
    const std::int64_t h = s_.width;
    // DeBERTa 1 has one product without bias for all three, and biases of queries and values alone.
    const bool plain_key = request_.type == "deberta";
    LayerWeights w;
    w.query = MakeDense(h, h, name + ".attention.query");
    w.key = MakeDense(h, h, name + ".attention.key", !plain_key);
    w.value = MakeDense(h, h, name + ".attention.value");
    w.output = MakeDense(h, h, name + ".attention.output");
    w.up = MakeDense(h, s_.inner, name + ".intermediate");
    w.down = MakeDense(s_.inner, h, name + ".output");
    for (int i = 0; i < 4; ++i) {
      w.norm[i] =
          b_.Weight(name + (i < 2 ? ".norm1" : ".norm2") + (i % 2 == 0 ? ".weight" : ".bias"), {h});
    }
    if (s_.relative > 0 && s_.own_positions) {
      w.position_key = MakeDense(h, h, name + ".attention.pos_key", !plain_key);
      w.position_query = MakeDense(h, h, name + ".attention.pos_query");
    }
    return w;
  }

  TensorId Embed() {
    const TensorId ids = b_.Input("input_ids", {request_.batch, tokens_}, DType::kInt64);
    words_ = b_.Weight("embeddings.word.weight", {s_.vocabulary, s_.embedding});
    TensorId x = b_.LookUp(ids, words_, "embeddings.word");
    if (s_.types > 0) {
      const TensorId type_ids =
          b_.Constant("token_type_ids", {request_.batch, tokens_}, DType::kInt64);
      x = b_.Add(x, b_.Embedding(type_ids, s_.types, s_.embedding, "embeddings.type"),
                 "embeddings");
    }
    if (s_.position_table) {
      const TensorId positions = b_.Constant("position_ids", {1, tokens_}, DType::kInt64);
      x = b_.Add(x, b_.Embedding(positions, s_.positions, s_.embedding, "embeddings.position"),
                 "embeddings");
    }
    x = b_.Norm(x, "LayerNorm", s_.embedding, Affine::kScaleAndShift, false, "embeddings.norm");
    x = Dropout(b_, x, s_.dropout, "embeddings.dropout");
    if (s_.embedding != s_.width) x = b_.Linear(x, s_.width, true, "embeddings.project");
    if (s_.relative > 0) {
      relative_ = b_.Weight("encoder.relative.weight", {s_.relative, s_.width});
      if (s_.relative_norm) {
        relative_ = b_.Norm(relative_, "LayerNorm", s_.width, Affine::kScaleAndShift, false,
                            "encoder.relative.norm");
      }
    }
    return x;
  }

  TensorId Project(TensorId x, const Dense& dense, const std::string& name) {
    return b_.LinearWith(x, dense.weight, dense.bias, name);
  }
  TensorId Norm(TensorId x, TensorId scale, TensorId shift, const std::string& name) {
    return b_.Apply(Kind::kNorm, "LayerNorm", {x, scale, shift}, b_.dims(x), name);
  }

  TensorId Layer(TensorId x, const LayerWeights& w, const std::string& name) {
    const TensorId q = Project(x, w.query, name + ".attention.query");
    const TensorId k = Project(x, w.key, name + ".attention.key");
    const TensorId v = Project(x, w.value, name + ".attention.value");
    TensorId y = s_.relative > 0
                     ? Disentangled(q, k, v, w, name + ".attention")
                     : b_.Attention(q, k, v, s_.heads, s_.heads, tokens_, name + ".attention");
    y = Dropout(b_, Project(y, w.output, name + ".attention.output"), s_.dropout,
                name + ".attention.dropout");
    x = Norm(b_.Add(y, x, name + ".attention.add"), w.norm[0], w.norm[1], name + ".norm1");
    y = b_.Same(Kind::kActivation, s_.activation, Project(x, w.up, name + ".intermediate"),
                name + ".activation");
    y = Dropout(b_, Project(y, w.down, name + ".output"), s_.dropout, name + ".dropout");
    return Norm(b_.Add(y, x, name + ".add"), w.norm[2], w.norm[3], name + ".norm2");
  }

  // DeBERTa: content with content, content with position, position with content; no fused kernel
  // does that.
  TensorId Disentangled(TensorId q, TensorId k, TensorId v, const LayerWeights& w,
                        const std::string& name) {
    const Dense& key = s_.own_positions ? w.position_key : w.key;
    const Dense& query = s_.own_positions ? w.position_query : w.query;
    const TensorId position_k = Project(relative_, key, name + ".pos_key");
    const TensorId position_q = Project(relative_, query, name + ".pos_query");
    const Dims scores = {request_.batch, s_.heads, tokens_, tokens_};
    const Dims wide = {request_.batch, s_.heads, tokens_, s_.relative};
    const auto rows = static_cast<double>(request_.batch) * static_cast<double>(tokens_);
    const auto width = static_cast<double>(s_.width);
    const double square = rows * static_cast<double>(tokens_) * width;
    const double relative = rows * static_cast<double>(s_.relative) * width;
    TensorId sum = b_.Product(q, k, scores, square, name + ".scores");
    for (const auto& [a, with] : {std::pair{q, position_k}, std::pair{k, position_q}}) {
      const TensorId all = b_.Product(a, with, wide, relative, name + ".relative");
      sum = b_.Add(sum, b_.Apply(Kind::kMove, "Gather", {all}, scores, name + ".gather"),
                   name + ".add");
    }
    sum = b_.Same(Kind::kSoftmax, "Softmax", sum, name + ".softmax");
    sum = Dropout(b_, sum, s_.dropout, name + ".dropout");
    return b_.Product(sum, v, b_.dims(q), square, name + ".context");
  }

  TensorId Pooler(TensorId x, std::string_view activation, const std::string& name) {
    const TensorId first = b_.Linear(FirstToken(b_, x, name), s_.width, true, name);
    return b_.Same(Kind::kActivation, activation, first, name + ".activation");
  }

  TensorId LanguageHead(TensorId x) {
    x = b_.Linear(x, s_.embedding, true, "lm_head.dense");
    x = b_.Same(Kind::kActivation, s_.activation, x, "lm_head.activation");
    x = b_.Norm(x, "LayerNorm", s_.embedding, Affine::kScaleAndShift, false, "lm_head.norm");
    const TensorId table =
        s_.tied ? words_ : b_.Weight("lm_head.decoder.weight", {s_.vocabulary, s_.embedding});
    return b_.LinearWith(x, table, b_.Weight("lm_head.decoder.bias", {s_.vocabulary}),
                         "lm_head.decoder");
  }

  TensorId Classifier(TensorId x) {
    const std::string& type = request_.type;
    if (type == "bert" || type == "albert") {
      x = Pooler(x, "tanh", "pooler");
    } else if (type == "distilbert") {
      x = Pooler(x, "relu", "pre_classifier");
    } else {
      x = Pooler(x, type.starts_with("deberta") || type == "electra" ? "gelu" : "tanh",
                 "classifier.dense");
    }
    return b_.Linear(Dropout(b_, x, s_.dropout, "classifier.dropout"), request_.labels, true,
                     "classifier");
  }

  std::vector<TensorId> Heads(TensorId x) {
    switch (request_.head) {
      case Head::kSequenceClassification:
        return {Classifier(x)};
      case Head::kTokenClassification:
        x = Dropout(b_, x, s_.dropout, "classifier.dropout");
        return {
            b_.Linear(x, request_.question_answering ? 2 : request_.labels, true, "classifier")};
      case Head::kPreTraining: {
        if (request_.type == "electra") {
          x = b_.Same(Kind::kActivation, s_.activation,
                      b_.Linear(x, s_.width, true, "discriminator.dense"),
                      "discriminator.activation");
          return {b_.Linear(x, 1, true, "discriminator.prediction")};
        }
        const TensorId pooled = Pooler(x, "tanh", "pooler");
        return {LanguageHead(x), b_.Linear(pooled, 2, true, "next_sentence")};
      }
      case Head::kMaskedLm:
      case Head::kCausalLm:
        return {LanguageHead(x)};
      default:
        break;
    }
    if (s_.pooler) return {x, Pooler(x, "tanh", "pooler")};
    return {x};
  }

  const Request& request_;
  const Shape& s_;
  std::int64_t tokens_;
  Builder b_;
  TensorId words_ = kAbsent;
  TensorId relative_ = kAbsent;
};

}  // namespace

Graph BuildEncoder(const Request& request, json::Reader& keys) {
  const Shape shape = ReadShape(request, keys);
  // RoBERTa counts its positions from 2 on.
  const bool offset = request.type == "roberta" || request.type == "xlm-roberta";
  const std::int64_t positions = std::max<std::int64_t>(1, shape.positions - (offset ? 2 : 0));
  const std::int64_t tokens = TokensOf(request, keys, 128, positions, shape.position_table);
  if (!keys.ok()) return {};
  return Encoder(request, shape, tokens).Build();
}

}  // namespace sharewell::graph::huggingface
