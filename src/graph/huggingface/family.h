// What the builders of the families have in common. A family is one function from the
// configuration's keys to a graph; config.cc has the table of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/builder.h"
#include "graph/model_keys.h"

namespace sharewell::graph::huggingface {

// What is put on top of the model: the end of the first of "architectures".
enum class Head {
  kNone,
  kSequenceClassification,
  kTokenClassification,  // question answering too
  kMaskedLm,
  kPreTraining,
  kCausalLm,
  kConditionalGeneration,
  kImageClassification,
};

struct Request {
  std::string type;  // model_type
  std::int64_t batch = 1;
  std::optional<std::int64_t> tokens, target;  // --bind seq=, target=
  Head head = Head::kNone;
  bool with_teacher = false;  // DeiT's second head
  bool question_answering = false;
  std::int64_t labels = 2;
};

// Bounds beyond which no model lies.
inline constexpr json::Range kWidth{1, 1 << 20};
inline constexpr json::Range kInner{1, 1 << 24};
inline constexpr json::Range kLayers{1, 2000};
inline constexpr json::Range kHeads{1, 1 << 16};
inline constexpr json::Range kRows{1, std::int64_t{1} << 31};

// Each asks for its keys, then returns early when the keys are in error; the caller looks there.
Graph BuildEncoder(const Request& request, json::Reader& keys);  // BERT and its kin
Graph BuildGpt(const Request& request, json::Reader& keys);      // GPT-2, GPT-Neo, OPT
Graph BuildLlama(const Request& request,
                 json::Reader& keys);  // Llama, Mistral, Mixtral, Qwen, Gemma
Graph BuildT5(const Request& request, json::Reader& keys);
Graph BuildVit(const Request& request, json::Reader& keys);  // ViT, DeiT

// Tokens of a sample: as bound, else the smaller of `usual` and `most`. More than `most` positions
// is an error where they are a table of the model (`fixed`).
std::int64_t TokensOf(const Request& request, json::Reader& keys, std::int64_t usual,
                      std::int64_t most, bool fixed);

// Heads must divide the width.
void CheckHeads(json::Reader& keys, std::int64_t width, std::int64_t heads);

// Left out where nothing is dropped.
TensorId Dropout(Builder& b, TensorId x, double share, const std::string& name);

// The first token of [batch, tokens, width].
TensorId FirstToken(Builder& b, TensorId x, const std::string& name);

// What stands on a decoder. `words` is the table of [vocabulary, width] that a tied head shares, or
// kAbsent: it has one of its own. `classifier` names the layer that labels tokens.
TensorId DecoderHead(Builder& b, const Request& request, TensorId x, TensorId words,
                     std::int64_t vocabulary, std::int64_t width, const std::string& classifier);

}  // namespace sharewell::graph::huggingface
