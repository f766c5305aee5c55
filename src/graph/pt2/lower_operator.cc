// What a node that AtenOf knows becomes: its kind, and the work it does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"
#include "graph/pt2/arithmetic.h"
#include "graph/pt2/lower.h"

namespace sharewell::graph::pt2 {
namespace {

constexpr double kMostMacs = 1e30;  // far beyond any machine, and far from infinity
// Below this a constant costs less than its launch, and exporters fold most of them away.
constexpr double kSmallFill = 65536;

int SpatialOf(std::string_view type) {
  for (const char c : {'1', '2', '3'}) {
    if (type.find(std::string{c, 'd'}) != std::string_view::npos) return c - '0';
  }
  return 1;
}

std::int64_t Whole(double value) {
  return static_cast<std::int64_t>(std::clamp(value, 1.0, static_cast<double>(kLargestDim)));
}

}  // namespace

void Lowering::Product(At& at, MaybeMacs macs, std::string_view needs) {
  if (macs && *macs <= kMostMacs) {
    at.op.macs = *macs;
    // A transposed weight is still the weight: training keeps its gradient there.
    for (TensorId& id : at.op.inputs) {
      if (id != kAbsent && weight_of_[static_cast<std::size_t>(id)] != kAbsent) {
        id = weight_of_[static_cast<std::size_t>(id)];
      }
    }
    return;
  }
  at.op.kind = Kind::kUnknown;
  at.op.why_unknown = macs ? std::string("its shapes are beyond any machine")
                           : fmt::format("the shapes of {} are not known", needs);
}

void Lowering::Convolve(At& at) {
  Op& op = at.op;
  const auto& weight = DimsOf(op.inputs, 1);
  const bool transposed =
      at.what.rule == Rule::kConvTransposed ||
      (at.what.rule == Rule::kConvolution && at.node.Bool("transposed") == true);
  op.kind = transposed ? Kind::kDeconv : Kind::kConv;
  op.groups = std::clamp<std::int64_t>(at.node.Integer("groups").value_or(1), 1, kLargestDim);
  if (weight && weight->size() > 2) {
    op.kernel = Whole(ElementsOf({weight->begin() + 2, weight->end()}));
    const int space = static_cast<int>(weight->size()) - 2;
    const double product = at.node.Product("dilation", space).value_or(1);
    op.dilation = Whole(std::max(1.0, std::round(std::pow(std::max(product, 1.0), 1.0 / space))));
  }
  Product(at,
          transposed ? DeconvMacs(DimsOf(op.inputs, 0), weight)
                     : ConvMacs(DimsOf(op.outputs, 0), weight),
          "its output and weight");
}

// One step: every matrix among the inputs but the first and the states is a weight.
void Lowering::Cell(At& at) {
  const auto& x = DimsOf(at.op.inputs, 0);
  double weights = 0;
  for (std::size_t i = 1; i < at.op.inputs.size(); ++i) {
    const TensorId id = at.op.inputs[i];
    if (id == kAbsent || weight_of_[static_cast<std::size_t>(id)] == kAbsent) continue;
    const auto& dims = DimsOf(at.op.inputs, i);
    if (dims && dims->size() == 2) weights += ElementsOf(*dims);
  }
  MaybeMacs macs;
  if (x && !x->empty() && weights > 0) {
    macs = weights * ElementsOf(*x) / static_cast<double>(std::max<std::int64_t>(1, x->back()));
  }
  Product(at, macs, "its input and weights");
}

void Lowering::Apply(At& at) {
  Op& op = at.op;
  const Node& node = at.node;
  const auto in = [&](std::size_t i) -> const std::optional<Dims>& { return DimsOf(op.inputs, i); };
  const auto out = [&]() -> const std::optional<Dims>& { return DimsOf(op.outputs, 0); };
  switch (at.what.rule) {
    case Rule::kConvolution:
    case Rule::kConv:
    case Rule::kConvTransposed:
      Convolve(at);
      return;
    case Rule::kAddedProduct:
      if (op.inputs.size() > 2)
        std::rotate(op.inputs.begin(), op.inputs.begin() + 1, op.inputs.begin() + 3);
      [[fallthrough]];
    case Rule::kProduct:
      Product(at, ProductMacs(in(0), out()), "its operands");
      return;
    case Rule::kEinsum: {
      std::vector<std::optional<Dims>> operands;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) operands.push_back(in(i));
      const auto macs = EinsumMacs(node.Words("equation"), operands);
      Product(at, macs, "its operands");
      return;
    }
    case Rule::kAttention:
    case Rule::kAttentionByToken: {
      const bool by_token = at.what.rule == Rule::kAttentionByToken;
      Product(at, AttentionMacs(in(0), in(1), in(2), by_token), "its queries, keys and values");
      return;
    }
    case Rule::kCell:
      Cell(at);
      return;
    case Rule::kPool:
      op.kernel = Whole(node.Product("kernel_size", SpatialOf(op.type)).value_or(1));
      return;
    case Rule::kAdaptivePool:
      if (in(0) && out()) {
        op.kernel = Whole(ElementsOf(*in(0)) / std::max(1.0, ElementsOf(*out())));
      }
      return;
    case Rule::kDropout:
      if (node.Number("p") == 0.0) op.kind = Kind::kView;
      break;
    case Rule::kCast: {
      const auto type = [&](const std::vector<TensorId>& ids) {
        return ids.empty() || ids[0] == kAbsent
                   ? DType::kUnknown
                   : graph_.tensors[static_cast<std::size_t>(ids[0])].dtype;
      };
      if (type(op.inputs) == type(op.outputs)) op.kind = Kind::kView;
      break;
    }
    case Rule::kLayout:
      if (!op.inputs.empty() && op.inputs[0] != kAbsent &&
          in_order_[static_cast<std::size_t>(op.inputs[0])]) {
        op.kind = Kind::kView;
      }
      break;
    case Rule::kFill:
      if (!out() || ElementsOf(*out()) < kSmallFill) op.kind = Kind::kHost;
      return;
    case Rule::kPlain:
    case Rule::kSequence:
    case Rule::kPackedSequence:
      break;
  }
  if (op.kind == Kind::kView && !op.inputs.empty() && op.inputs[0] != kAbsent) {
    const TensorId weight = weight_of_[static_cast<std::size_t>(op.inputs[0])];
    for (const TensorId id : op.outputs) weight_of_[static_cast<std::size_t>(id)] = weight;
  }
}

// One operator a layer, both directions in it, with a tensor of its own in between.
core::Result<void> Lowering::Sequence(Scope& scope, At& at) {
  const auto params = FindAll(scope, at.node.Tensors("params"));
  const auto states = FindAll(scope, at.node.Tensors("hx"));
  if (!params || !states) return tl::unexpected(params ? states.error() : params.error());
  const std::optional<Dims> x = DimsOf(at.op.inputs, 0);
  const std::optional<Dims> y = DimsOf(at.op.outputs, 0);
  const auto layers = static_cast<std::size_t>(
      std::max<std::int64_t>(0, at.node.Integer("num_layers").value_or(1)));
  if (layers == 0 || params->empty() || params->size() % layers != 0 || !x || x->size() < 2 ||
      x->size() > 3 || !y) {
    at.op.kind = Kind::kUnknown;
    at.op.why_unknown = "its layers, weights and input do not fit together";
    return Push(std::move(at.op));
  }
  const std::size_t a_layer = params->size() / layers;
  const double rows =  // steps x samples
      ElementsOf(*x) / static_cast<double>(std::max<std::int64_t>(1, x->back()));
  const bool batch_first = at.node.Bool("batch_first").value_or(false) && x->size() == 3;
  std::int64_t steps = (*x)[batch_first ? 1 : 0];
  if (at.what.rule == Rule::kPackedSequence) {
    const auto& batch_sizes = DimsOf(at.op.inputs, 1);
    steps = batch_sizes && !batch_sizes->empty() ? batch_sizes->front() : 1;
  }
  TensorId carried = at.op.inputs[0];
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Op op;
    op.kind = Kind::kRecurrent;
    op.type = at.op.type;
    op.name = at.op.name;
    op.inputs.push_back(carried);
    if (layers > 1) op.name += fmt::format(".{}", layer);
    op.steps = std::clamp<std::int64_t>(steps, 1, kLargestDim);
    for (std::size_t i = layer * a_layer; i < (layer + 1) * a_layer; ++i) {
      op.inputs.push_back((*params)[i]);
      const auto& dims = DimsOf(*params, i);
      if (dims && dims->size() == 2) op.macs += rows * ElementsOf(*dims);
    }
    if (layer == 0) op.inputs.insert(op.inputs.end(), states->begin(), states->end());
    if (layer + 1 == layers) {
      op.outputs = at.op.outputs;
    } else {
      const DType dtype = graph_.tensors[static_cast<std::size_t>(at.op.outputs[0])].dtype;
      carried = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back({.name = op.name, .dtype = dtype, .dims = y});
      in_order_.push_back(true);
      weight_of_.push_back(kAbsent);
      op.outputs.push_back(carried);
    }
    if (auto pushed = Push(std::move(op)); !pushed) return pushed;
  }
  return {};
}

}  // namespace sharewell::graph::pt2
