#include "graph/huggingface/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "graph/huggingface/family.h"

namespace sharewell::graph {
namespace huggingface {
namespace {

constexpr std::size_t kLargestConfig = std::size_t{16} << 20;  // id2label of large vocabularies

enum class Takes { kImage, kTokens, kTokensAndTarget };

struct Family {
  std::string_view type;
  Graph (*build)(const Request&, json::Reader&);
  Takes takes = Takes::kTokens;
};

constexpr std::array kFamilies = {
    Family{"albert", BuildEncoder},
    Family{"bert", BuildEncoder},
    Family{"deberta", BuildEncoder},
    Family{"deberta-v2", BuildEncoder},
    Family{"deit", BuildVit, Takes::kImage},
    Family{"distilbert", BuildEncoder},
    Family{"electra", BuildEncoder},
    Family{"gemma", BuildLlama},
    Family{"gpt2", BuildGpt},
    Family{"gpt_neo", BuildGpt},
    Family{"llama", BuildLlama},
    Family{"mistral", BuildLlama},
    Family{"mixtral", BuildLlama},
    Family{"opt", BuildGpt},
    Family{"qwen2", BuildLlama},
    Family{"qwen3", BuildLlama},
    Family{"roberta", BuildEncoder},
    Family{"t5", BuildT5, Takes::kTokensAndTarget},
    Family{"vit", BuildVit, Takes::kImage},
    Family{"xlm-roberta", BuildEncoder},
};

struct HeadName {
  std::string_view ending;
  Head head;
};
constexpr HeadName kHeadNames[] = {
    {"ForSequenceClassification", Head::kSequenceClassification},
    {"ForTokenClassification", Head::kTokenClassification},
    {"ForQuestionAnswering", Head::kTokenClassification},
    {"ForMaskedLM", Head::kMaskedLm},
    {"ForPreTraining", Head::kPreTraining},
    {"ForCausalLM", Head::kCausalLm},
    {"DoubleHeadsModel", Head::kCausalLm},  // its second head is one row
    {"LMHeadModel", Head::kCausalLm},
    {"ForConditionalGeneration", Head::kConditionalGeneration},
    {"ForImageClassificationWithTeacher", Head::kImageClassification},
    {"ForImageClassification", Head::kImageClassification},
    {"WithLMHead", Head::kCausalLm},
    {"EncoderModel", Head::kNone},
    {"Model", Head::kNone},
};

void ReadHead(json::Reader& keys, Request& request) {
  const json::Value architectures = keys.Member("architectures");
  if (architectures.is_null()) return;
  const auto name = architectures.At(0).Text();
  if (!name) {
    keys.Fail("architectures", "must be a list of class names, like [\"BertForMaskedLM\"]");
    return;
  }
  for (const HeadName& known : kHeadNames) {
    if (!name->ends_with(known.ending)) continue;
    request.head = known.head;
    request.with_teacher = known.ending == "ForImageClassificationWithTeacher";
    request.question_answering = known.ending == "ForQuestionAnswering";
    return;
  }
  std::vector<std::string_view> endings;
  for (const HeadName& known : kHeadNames) endings.push_back(known.ending);
  keys.Fail(
      "architectures",
      fmt::format("names {}, whose head we do not know; we know those that end in {}. Put the "
                  "nearest there, or export the model (torch.export, ONNX)",
                  core::Quoted(*name), fmt::join(endings, ", ")));
}

void ReadLabels(json::Reader& keys, Request& request) {
  const json::Value names = keys.Member("id2label");
  if (names.is_object() && !names.empty()) {
    request.labels = static_cast<std::int64_t>(names.size());
  }
  request.labels = keys.WholeOr("num_labels", request.labels, kRows);
}

void ReadBinding(const Binding& binding, Takes takes, json::Reader& keys, Request& request) {
  for (const auto& [dimension, value] : binding.named) {
    const bool seq = dimension == "seq" && takes != Takes::kImage;
    const bool target = dimension == "target" && takes == Takes::kTokensAndTarget;
    if (!seq && !target) {
      keys.Fail(fmt::format(
          "has no open dimension {}; {}", core::Quoted(dimension),
          takes == Takes::kImage    ? "its sizes are image_size and patch_size, in the file itself"
          : takes == Takes::kTokens ? "it has one, seq: the tokens of a sample"
                                    : "it has seq and target: the tokens of encoder and decoder"));
    } else if (value < 1 || value > kRows.most) {
      keys.Fail(
          fmt::format("{} cannot be {}; give a number from 1 to {}", dimension, value, kRows.most));
    } else {
      (seq ? request.tokens : request.target) = value;
    }
  }
}

}  // namespace

std::int64_t TokensOf(const Request& request, json::Reader& keys, std::int64_t usual,
                      std::int64_t most, bool fixed) {
  const std::int64_t tokens = request.tokens.value_or(std::min(usual, most));
  if (fixed && tokens > most) {
    keys.Fail(
        fmt::format("seq is {}, but the model has positions for {} tokens only; bind a "
                    "smaller one, as in --bind seq={}",
                    tokens, most, most));
  }
  return tokens;
}

TensorId DecoderHead(Builder& b, const Request& request, TensorId x, TensorId words,
                     std::int64_t vocabulary, std::int64_t width, const std::string& classifier) {
  switch (request.head) {
    case Head::kCausalLm: {
      const TensorId table =
          words != kAbsent ? words : b.Weight("lm_head.weight", {vocabulary, width});
      return b.LinearWith(x, table, kAbsent, "lm_head");
    }
    case Head::kSequenceClassification:  // of every token; the last one's is taken
      x = b.Linear(x, request.labels, false, "score");
      return b.Apply(Kind::kMove, "Gather", {x}, {request.batch, request.labels}, "score.last");
    case Head::kTokenClassification:
      return b.Linear(x, request.question_answering ? 2 : request.labels, true, classifier);
    default:
      return x;
  }
}

void CheckHeads(json::Reader& keys, std::int64_t width, std::int64_t heads) {
  if (width % heads != 0) {
    keys.Fail(fmt::format("{} attention heads do not divide the hidden size {}", heads, width));
  }
}

TensorId Dropout(Builder& b, TensorId x, double share, const std::string& name) {
  return share > 0 ? b.Same(Kind::kDropout, "Dropout", x, name) : x;
}

TensorId FirstToken(Builder& b, TensorId x, const std::string& name) {
  const Dims& all = b.dims(x);
  return b.Apply(Kind::kView, "Select", {x}, {all[0], all[2]}, name);
}

}  // namespace huggingface

std::vector<std::string> ConfigTypes() {
  std::vector<std::string> types;
  for (const auto& family : huggingface::kFamilies) types.emplace_back(family.type);
  return types;
}

core::Result<Graph> ReadConfig(std::string_view bytes, const std::string& name,
                               const Binding& binding) {
  using namespace huggingface;  // NOLINT(google-build-using-namespace): this file's own
  const auto config = ParseModelJson(bytes, name, kLargestConfig);
  RETURN_IF_ERROR(config);
  if (!config->root().is_object()) {
    return core::UsageError("{}: is no configuration: a JSON object is expected", name);
  }
  std::string error;
  json::Reader keys(config->root(), name + ": ", json::Trust::kSent, error);
  Request request;
  request.type = keys.TextOr("model_type", "");
  request.batch = binding.batch;
  const auto* family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& known) {
    return known.type == request.type;
  });
  if (family == kFamilies.end()) {
    const auto types = ConfigTypes();
    return core::UsageError(
        "{}: 'model_type' {} is none we can build; export it with torch.export or torch.onnx. We "
        "can "
        "build {}{}",
        name, core::Quoted(request.type), fmt::join(types, ", "),
        core::DidYouMean(request.type, types));
  }
  ReadHead(keys, request);
  ReadLabels(keys, request);
  ReadBinding(binding, family->takes, keys, request);
  Graph graph;
  if (keys.ok()) graph = family->build(request, keys);
  if (!keys.ok()) return core::UsageError("{}", error);
  graph.format = "Hugging Face " + request.type;
  if (const auto version = keys.TextOr("transformers_version", ""); !version.empty()) {
    const std::string shown = core::Quoted(version);
    graph.producer = "transformers " + shown.substr(1, shown.size() - 2);
  }
  if (!keys.ok()) return core::UsageError("{}", error);
  return graph;
}

}  // namespace sharewell::graph
