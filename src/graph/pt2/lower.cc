#include "graph/pt2/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "graph/pt2/arithmetic.h"

namespace sharewell::graph::pt2 {
namespace {

using core::Quoted;
using core::Result;
using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kMostTensors = 4 * kMostNodes;
constexpr int kDeepestGraph = 16;
constexpr double kMostMacs = 1e30;  // far beyond any machine, and far from infinity
// Below this a constant costs less than its launch, and exporters fold most of them away.
constexpr double kSmallFill = 65536;

// torch.export's own numbers (torch/_export/serde/schema.py, ScalarType).
DType TypeOf(element meta) {
  std::int64_t type = 0;
  if (meta["dtype"].get(type) != SUCCESS) return DType::kUnknown;
  switch (type) {
    case 1:   // uint8
    case 2:   // int8
    case 12:  // bool
    case 29:  // float8, four kinds
    case 30:
    case 31:
    case 32:
      return DType::kByte;
    case 3:   // int16
    case 6:   // float16
    case 13:  // bfloat16
    case 28:  // uint16
      return DType::kHalf;
    case 4:
      return DType::kInt32;
    case 5:
    case 10:  // complex64
      return DType::kInt64;
    case 7:
      return DType::kFloat;
    case 8:
    case 11:  // complex128
      return DType::kDouble;
    default:
      return DType::kUnknown;
  }
}

bool InOrder(const Dims& dims, const Dims& strides) {
  if (dims.size() != strides.size()) return false;
  std::int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, dims[i], &expected)) return false;
  }
  return true;
}

struct Target {
  std::string type;               // "aten.conv2d": what is shown
  std::string_view op, overload;  // as AtenOf wants them
  bool host = false;              // arithmetic on sizes
};

// "torch.ops.aten.conv2d.default"; Python's own functions ("_operator.mul", "torch.sym_max",
// "math.floor") work on sizes, but for getitem.
Target Split(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  Target split;
  if (!target.starts_with(kOps)) {
    split.type = target;
    split.host = !target.ends_with("getitem");
    split.op = "getitem";
    return split;
  }
  std::string_view rest = target.substr(kOps.size());
  const auto space = rest.find('.');
  // Higher-order operators have no overload: "torch.ops.higher_order.cond".
  const auto dot = space == std::string_view::npos ? space : rest.find('.', space + 1);
  if (dot != std::string_view::npos) {
    split.overload = rest.substr(dot + 1);
    rest = rest.substr(0, dot);
  }
  split.type = rest;
  split.op = rest.starts_with("aten.") ? rest.substr(5) : rest;
  const bool in_place = split.op.ends_with('_') && !split.op.ends_with("__");
  if (in_place) split.op.remove_suffix(1);
  return split;
}

int SpatialOf(std::string_view type) {
  for (const char c : {'1', '2', '3'}) {
    if (type.find(std::string{c, 'd'}) != std::string_view::npos) return c - '0';
  }
  return 1;
}

void DropTrailingAbsent(std::vector<TensorId>& ids) {
  while (!ids.empty() && ids.back() == kAbsent) ids.pop_back();
}

std::int64_t Whole(double value) {
  return static_cast<std::int64_t>(std::clamp(value, 1.0, static_cast<double>(kLargestDim)));
}

}  // namespace

Lowering::Scope Lowering::ScopeOf(element graph) {
  Scope scope;
  object values;
  if (graph["tensor_values"].get(values) != SUCCESS) return scope;
  for (const auto [name, meta] : values) scope.metas.emplace(name, meta);
  return scope;
}

Result<TensorId> Lowering::Make(Scope& scope, std::string_view name, Role role,
                                std::string_view shown_name) {
  if (graph_.tensors.size() >= kMostTensors) {
    return core::UsageError("{}: has more than {} tensors, the most we read", file_, kMostTensors);
  }
  Tensor tensor;
  tensor.name = shown_name.empty() ? name : shown_name;
  tensor.dtype = DType::kUnknown;
  tensor.role = role;
  bool in_order = true;
  if (const auto meta = scope.metas.find(name); meta != scope.metas.end()) {
    tensor.dtype = TypeOf(meta->second);
    tensor.dims = sizes_.All(meta->second["sizes"]);
    for (const std::int64_t dim : tensor.dims.value_or(Dims())) {
      if (dim < 0 || dim > kLargestDim) {
        return core::UsageError("{}: tensor {} has a dimension of {}; no tensor has (0 to {})",
                                file_, Quoted(name), dim, kLargestDim);
      }
    }
    const auto strides = sizes_.All(meta->second["strides"]);
    if (tensor.dims && strides) in_order = InOrder(*tensor.dims, *strides);
  }
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.push_back(std::move(tensor));
  in_order_.push_back(in_order);
  weight_of_.push_back(role == Role::kWeight ? id : kAbsent);
  scope.ids[name] = id;
  return id;
}

Result<TensorId> Lowering::Find(Scope& scope, std::string_view name) {
  if (name.empty()) return kAbsent;
  const auto found = scope.ids.find(name);
  if (found != scope.ids.end()) return found->second;
  return Make(scope, name, Role::kConstant);
}

Result<std::vector<TensorId>> Lowering::FindAll(Scope& scope, const TensorNames& names) {
  std::vector<TensorId> ids;
  ids.reserve(names.size());
  for (const std::string_view name : names) {
    const auto id = Find(scope, name);
    RETURN_IF_ERROR(id);
    ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<TensorId>> Lowering::MakeAll(Scope& scope, const TensorNames& names) {
  std::vector<TensorId> ids;
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const auto id = Make(scope, name, Role::kActivation);
    RETURN_IF_ERROR(id);
    ids.push_back(*id);
  }
  return ids;
}

Result<void> Lowering::Push(Op op) {
  if (graph_.ops.size() >= kMostNodes) {
    return core::UsageError("{}: has more than {} operators, the most we read", file_, kMostNodes);
  }
  graph_.ops.push_back(std::move(op));
  return {};
}

const std::optional<Dims>& Lowering::DimsOf(const std::vector<TensorId>& ids, std::size_t i) const {
  static const std::optional<Dims> kNone;
  if (i >= ids.size() || ids[i] == kAbsent) return kNone;
  return graph_.tensors[static_cast<std::size_t>(ids[i])].dims;
}

Result<void> Lowering::All(Scope& scope, element graph, int depth) {
  array nodes;
  if (graph["nodes"].get(nodes) != SUCCESS) {
    return core::UsageError("{}: its graph has no list of nodes; export the model again", file_);
  }
  for (const element json : nodes) {
    const Node node(json);
    if (node.target().empty()) {
      return core::UsageError("{}: a node of its graph names no target; export the model again",
                              file_);
    }
    if (auto done = One(scope, node, depth); !done) return done;
  }
  return {};
}

Result<void> Lowering::One(Scope& scope, const Node& node, int depth) {
  const auto graphs = node.Graphs();
  Target target = Split(node.target());
  const auto known = AtenOf(target.op, target.overload);
  if (!graphs.empty() && !known) return Subgraphs(scope, node, graphs, depth);

  At at{node, known.value_or(Aten{}), Op{}};
  at.op.type = std::move(target.type);
  at.op.name = node.name();
  at.op.kind = at.what.kind;
  auto inputs = FindAll(scope, node.Inputs());
  RETURN_IF_ERROR(inputs);
  at.op.inputs = *std::move(inputs);
  DropTrailingAbsent(at.op.inputs);
  auto outputs = MakeAll(scope, node.Outputs());
  RETURN_IF_ERROR(outputs);
  at.op.outputs = *std::move(outputs);
  if (target.host || at.op.outputs.empty()) {
    at.op.kind = Kind::kHost;
    return Push(std::move(at.op));
  }
  if (!known) {
    at.op.why_unknown = fmt::format("no rule for {}", Quoted(node.target()));
    return Push(std::move(at.op));
  }
  if (at.what.rule == Rule::kSequence || at.what.rule == Rule::kPackedSequence) {
    return Sequence(scope, at);
  }
  Apply(at);
  return Push(std::move(at.op));
}

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
Result<void> Lowering::Sequence(Scope& scope, At& at) {
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

// Outputs in the order of the graph's own; kAbsent where one is no tensor.
Result<std::vector<TensorId>> Lowering::Inline(const std::vector<TensorId>& operands, element graph,
                                               int depth) {
  Scope inner = ScopeOf(graph);
  array list;
  if (graph["inputs"].get(list) == SUCCESS) {
    std::size_t i = 0;
    for (const element input : list) {
      TensorNames names;
      AppendTensors(input, names);
      if (i < operands.size() && operands[i] != kAbsent && !names.empty()) {
        inner.ids[names[0]] = operands[i];
      }
      ++i;
    }
  }
  RETURN_IF_ERROR(All(inner, graph, depth + 1));
  TensorNames made;
  if (graph["outputs"].get(list) == SUCCESS) {
    for (const element output : list) AppendTensors(output, made);
  }
  return FindAll(inner, made);
}

// Wrappers run their one graph; of a condition's branches the one with more arithmetic counts.
Result<void> Lowering::Subgraphs(Scope& scope, const Node& node, const std::vector<element>& graphs,
                                 int depth) {
  const std::string_view target = node.target();
  if (depth >= kDeepestGraph) {
    return core::UsageError(
        "{}: graphs stand inside each other more than {} deep, the most we read", file_,
        kDeepestGraph);
  }
  const auto operands = FindAll(scope, node.Operands());
  RETURN_IF_ERROR(operands);
  const bool wrapper = target.find(".wrap") != std::string_view::npos ||
                       target.ends_with(".invoke_subgraph") || target.ends_with(".hints_wrapper") ||
                       target.ends_with(".tag_activation_checkpoint");
  if (!target.ends_with(".cond") && !(wrapper && graphs.size() == 1)) {
    Op op;
    op.type = Split(target).type;
    op.name = node.name();
    op.inputs = *operands;
    op.why_unknown = fmt::format("how often {} runs its graph is not known", Quoted(target));
    DropTrailingAbsent(op.inputs);
    auto outputs = MakeAll(scope, node.Outputs());
    RETURN_IF_ERROR(outputs);
    op.outputs = *std::move(outputs);
    return Push(std::move(op));
  }
  // Each graph is lowered from the same place, so that the ids of the one kept stay right.
  const std::size_t ops = graph_.ops.size();
  const std::size_t tensors = graph_.tensors.size();
  Branch kept;
  for (const element graph : graphs) {
    auto made = Inline(*operands, graph, depth);
    RETURN_IF_ERROR(made);
    Branch branch = TakeBack(ops, tensors);
    branch.outputs = *std::move(made);
    if (branch.macs > kept.macs) kept = std::move(branch);
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(graph_.ops, kept.ops);
  append(graph_.tensors, kept.tensors);
  in_order_.insert(in_order_.end(), kept.in_order.begin(), kept.in_order.end());
  append(weight_of_, kept.weight_of);
  const TensorNames wanted = node.Outputs();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].empty()) continue;
    if (i < kept.outputs.size() && kept.outputs[i] != kAbsent) {
      scope.ids[wanted[i]] = kept.outputs[i];
    } else
      RETURN_IF_ERROR(Make(scope, wanted[i], Role::kActivation));
  }
  return {};
}

Lowering::Branch Lowering::TakeBack(std::size_t ops, std::size_t tensors) {
  const auto cut = [](auto& from, std::size_t at) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    std::decay_t<decltype(from)> tail(std::make_move_iterator(begin),
                                      std::make_move_iterator(from.end()));
    from.erase(begin, from.end());
    return tail;
  };
  Branch branch;
  branch.ops = cut(graph_.ops, ops);
  branch.tensors = cut(graph_.tensors, tensors);
  branch.in_order.assign(in_order_.begin() + static_cast<std::ptrdiff_t>(tensors), in_order_.end());
  in_order_.resize(tensors);
  branch.weight_of = cut(weight_of_, tensors);
  branch.macs = 0;
  for (const Op& op : branch.ops) branch.macs += op.macs;
  return branch;
}

}  // namespace sharewell::graph::pt2
