#include "graph/onnx/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/onnx/operators/layout.h"

namespace sharewell::graph::onnx {
namespace {

// What the operands come from, or-ed together.
std::uint8_t OriginOf(const Node& node) {
  std::uint8_t origin = kFromConstants;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (const Fact* fact = node.FactOf(i)) origin |= fact->origin;
  }
  return origin;
}

bool HasOperands(const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](TensorId id) { return id != kAbsent; });
}

bool AllKnown(const Node& node, const Values& values) {
  bool any = false;
  for (const TensorId id : node.outputs) {
    if (id == kAbsent) continue;
    if (!values.facts[Index(id)].numbers) return false;
    any = true;
  }
  return any;
}

Kind GatherKind(const Node& node) {
  const Dims* data = node.Shape(0);
  const Dims* indices = node.Shape(1);
  const bool one = indices != nullptr && indices->empty() && node.Known(1) != nullptr;
  if (one) return Kind::kView;  // PyTorch's select: a view
  const Fact* fact = node.FactOf(0);
  const bool table = fact != nullptr && fact->origin == kFromWeights && data != nullptr &&
                     data->size() >= 2 && IsFloat(node.Type(0)) && node.Int("axis", 0) == 0;
  return table ? Kind::kEmbedding : Kind::kMove;
}

// The rule's kind, as this node uses it.
Kind KindOf(const Node& node, const Rule& rule, const Values& values, double macs) {
  if (rule.kind == Kind::kHost || AllKnown(node, values)) return Kind::kHost;
  Kind kind = rule.kind;
  const std::string_view type = node.type();
  if (type == "Gather") kind = GatherKind(node);
  if (type == "Slice" && !CutsInPlace(node)) kind = Kind::kMove;
  if (type == "Einsum" && node.inputs.size() < 2) kind = Kind::kReduction;
  if (macs > 0 || kind == Kind::kEmbedding || !HasOperands(node)) return kind;
  const std::uint8_t origin = OriginOf(node);
  if (origin == kFromConstants && kind != Kind::kView) return Kind::kHost;
  // Weights put into another layout for an operator of ONNX: no framework does that in training.
  if (origin == kFromWeights && kind == Kind::kMove) return Kind::kHost;
  return kind;
}

std::string UnknownShape(const Node& node, const Values& values) {
  if (!node.clash().empty()) return node.clash();
  for (const TensorId id : node.inputs) {
    if (id != kAbsent && !values.tensors[Index(id)].dims) {
      return fmt::format("the shape of its operand {} is not known",
                         Quoted(values.tensors[Index(id)].name));
    }
  }
  return "its shape hangs on values that are only known when the model runs";
}

// Operands in the IR's order: data, weight, bias first, quantisation's scales left out.
std::vector<TensorId> Operands(const Node& node) {
  const auto pick = [&](std::initializer_list<std::size_t> places) {
    std::vector<TensorId> picked;
    for (const std::size_t place : places) {
      picked.push_back(node.HasInput(place) ? node.inputs[place] : kAbsent);
    }
    while (!picked.empty() && picked.back() == kAbsent) picked.pop_back();
    return picked;
  };
  const std::string_view type = node.type();
  if (type == "QLinearConv") return pick({0, 3, 8});
  if (type == "QLinearMatMul") return pick({0, 3});
  if (type == "ConvInteger" || type == "MatMulInteger") return pick({0, 1});
  if (type == "DeformConv") return pick({0, 1, 3, 2, 4});
  if (type == "SkipLayerNormalization") return pick({0, 2, 3, 1, 4});
  if (type == "SkipSimplifiedLayerNormalization") return pick({0, 2, 5, 1, 3});
  return node.inputs;
}

}  // namespace

Op Lowered(const Node& node, const Rule* rule, const Values& values) {
  constexpr std::size_t kLongestName = 256;
  Op op;
  op.type = std::string(node.type().substr(0, kLongestName));
  op.name = std::string(node.name().substr(0, kLongestName));
  op.outputs = node.outputs;
  op.inputs = Operands(node);
  if (rule == nullptr) {
    // Classical models and data preparation, which run on the host.
    if (node.domain() == "ai.onnx.ml") {
      op.kind = Kind::kHost;
    } else {
      op.why_unknown = node.domain().empty() ? "this operator is not known here"
                                             : fmt::format("this operator of {} is not known here",
                                                           Quoted(node.domain()));
    }
    return op;
  }
  if (rule->work != nullptr) rule->work(node, op);
  op.kind = KindOf(node, *rule, values, op.macs);
  const bool shaped =
      node.outputs.empty() || node.outputs[0] == kAbsent || node.Result(0) != nullptr;
  const bool weightless = op.kind == Kind::kHost || op.kind == Kind::kView;
  if ((!shaped && !weightless) || !node.clash().empty()) {
    op.kind = Kind::kUnknown;
    op.macs = 0;
    op.why_unknown = UnknownShape(node, values);
  }
  return op;
}

void MarkWeights(const Op& op, Values& values) {
  if (op.kind == Kind::kHost || op.kind == Kind::kResample || op.type == "QuantizeLinear" ||
      op.type == "DequantizeLinear") {
    return;
  }
  const bool layer = op.kind == Kind::kConv || op.kind == Kind::kDeconv ||
                     op.kind == Kind::kMatMul || op.kind == Kind::kNorm;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kAbsent) continue;
    const Fact& fact = values.facts[Index(op.inputs[i])];
    Tensor& tensor = values.tensors[Index(op.inputs[i])];
    if (!fact.initializer || fact.frozen || !IsFloat(tensor.dtype) || !tensor.dims ||
        tensor.dims->empty()) {
      continue;
    }
    if (op.type == "BatchNormalization" && i >= 3) continue;
    if (!layer && Elements(tensor) <= 1) continue;  // a number in the shape of a vector
    // PyTorch's exporter names what it computed itself val_N. Matrices are weights it transposed;
    // what has more dimensions and is no layer's weight is a result that it folded.
    if (!layer && tensor.dims->size() > 2 && tensor.name.compare(0, 4, "val_") == 0) continue;
    tensor.role = Role::kWeight;
  }
}

namespace {

// The initializers behind `id`, each once; empty when more than a change of layout lies between.
std::vector<TensorId> WeightsBehind(TensorId id, const Values& values, const std::vector<Op>& ops) {
  constexpr std::size_t kFarthest = 64;
  std::vector<TensorId> weights;
  std::vector<TensorId> open = {id};
  for (std::size_t step = 0; step < open.size(); ++step) {
    if (open.size() > kFarthest) return {};
    const Fact& fact = values.facts[Index(open[step])];
    if (fact.initializer) {
      if (std::find(weights.begin(), weights.end(), open[step]) == weights.end()) {
        weights.push_back(open[step]);
      }
      continue;
    }
    if (fact.producer < 0) return {};
    const Op& op = ops[static_cast<std::size_t>(fact.producer)];
    const bool layout = op.kind == Kind::kView || (op.kind == Kind::kHost && op.type == "Concat") ||
                        op.type == "Cast";
    if (!layout || op.inputs.empty()) return {};
    const std::size_t parts = op.type == "Concat" ? op.inputs.size() : 1;
    for (std::size_t i = 0; i < parts; ++i) {
      if (op.inputs[i] == kAbsent) return {};
      open.push_back(op.inputs[i]);
    }
  }
  // A part of a weight, or a stretched copy of it, is not the weight.
  double elements = 0;
  for (const TensorId weight : weights) elements += Elements(values.tensors[Index(weight)]);
  return elements == Elements(values.tensors[Index(id)]) ? weights : std::vector<TensorId>();
}

}  // namespace

void ReadWeightsDirectly(Op& op, const Values& values, const std::vector<Op>& ops) {
  if (op.kind != Kind::kConv && op.kind != Kind::kDeconv && op.kind != Kind::kMatMul &&
      op.kind != Kind::kRecurrent && op.kind != Kind::kNorm && op.kind != Kind::kEmbedding) {
    return;
  }
  const std::size_t count = op.inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (op.inputs[i] == kAbsent) continue;
    const Fact& fact = values.facts[Index(op.inputs[i])];
    if (fact.initializer || fact.origin != kFromWeights) continue;
    const std::vector<TensorId> weights = WeightsBehind(op.inputs[i], values, ops);
    if (weights.empty()) continue;
    op.inputs[i] = weights[0];
    op.inputs.insert(op.inputs.end(), weights.begin() + 1, weights.end());
  }
}

}  // namespace sharewell::graph::onnx
