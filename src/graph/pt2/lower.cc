#include "graph/pt2/lower.h"

#include <fmt/format.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::graph::pt2 {
namespace {

using core::Quoted;
using core::Result;
using json::Value;

constexpr std::size_t kMostTensors = 4 * kMostNodes;
constexpr int kDeepestGraph = 16;

// torch.export's own numbers (torch/_export/serde/schema.py, ScalarType).
DType TypeOf(Value meta) {
  switch (meta["dtype"].Whole().value_or(0)) {
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

void DropTrailingAbsent(std::vector<TensorId>& ids) {
  while (!ids.empty() && ids.back() == kAbsent) ids.pop_back();
}

}  // namespace

Lowering::Scope Lowering::ScopeOf(Value graph) {
  Scope scope;
  for (const auto& [name, meta] : graph["tensor_values"].members()) {
    scope.metas.emplace(name, meta);
  }
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

Result<void> Lowering::All(Scope& scope, Value graph, int depth) {
  const Value nodes = graph["nodes"];
  if (!nodes.is_list()) {
    return core::UsageError("{}: its graph has no list of nodes; export the model again", file_);
  }
  for (const Value item : nodes.items()) {
    const Node node(item);
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

// Outputs in the order of the graph's own; kAbsent where one is no tensor.
Result<std::vector<TensorId>> Lowering::Inline(const std::vector<TensorId>& operands, Value graph,
                                               int depth) {
  Scope inner = ScopeOf(graph);
  std::size_t i = 0;
  for (const Value input : graph["inputs"].items()) {
    TensorNames names;
    AppendTensors(input, names);
    if (i < operands.size() && operands[i] != kAbsent && !names.empty()) {
      inner.ids[names[0]] = operands[i];
    }
    ++i;
  }
  RETURN_IF_ERROR(All(inner, graph, depth + 1));
  TensorNames made;
  for (const Value output : graph["outputs"].items()) AppendTensors(output, made);
  return FindAll(inner, made);
}

// Wrappers run their one graph; of a condition's branches the one with more arithmetic counts.
Result<void> Lowering::Subgraphs(Scope& scope, const Node& node, const std::vector<Value>& graphs,
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
  for (const Value graph : graphs) {
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
