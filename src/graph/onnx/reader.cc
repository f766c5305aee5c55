#include "graph/onnx/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

#include "graph/onnx/lower.h"
#include "graph/onnx/operators/rules.h"
#include "graph/onnx/order.h"

namespace sharewell::graph::onnx {
namespace {

std::string FunctionKey(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}\n{}\n{}", domain, name, overload);
}

// native_batch_norm returns a tuple: its first part is "getitem", "getitem_3", ... A convolution
// whose result bears that name has swallowed a batch normalisation (PyTorch's dynamo exporter). The
// TorchScript exporter names the weights it had to compute itself "onnx::Conv_123".
bool SwallowedNorm(const Op& op, const Values& values) {
  if ((op.kind != Kind::kConv && op.kind != Kind::kDeconv) || op.inputs.size() < 2) return false;
  const std::string& out = values.tensors[Index(op.outputs[0])].name;
  constexpr std::string_view kGetItem = "getitem";
  if (out.compare(0, kGetItem.size(), kGetItem) == 0) {
    const std::string_view rest = std::string_view(out).substr(kGetItem.size());
    const bool numbered = rest.size() > 1 && rest[0] == '_' &&
                          std::all_of(rest.begin() + 1, rest.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
    if (rest.empty() || numbered) return true;
  }
  if (op.inputs[1] == kAbsent) return false;
  return values.tensors[Index(op.inputs[1])].name.compare(0, 10, "onnx::Conv") == 0;
}

std::size_t NumbersKnown(const std::vector<TensorId>& ids, const Values& values) {
  std::size_t numbers = 0;
  for (const TensorId id : ids) {
    if (id == kAbsent) continue;
    if (const auto& known = values.facts[Index(id)].numbers) numbers += CountOf(*known);
  }
  return numbers;
}

}  // namespace

Reader::Reader(const wire::Model& model, const BoundInputs& bound, bool declared)
    : bound_(bound), declared_(declared), pytorch_(model.producer.substr(0, 7) == "pytorch") {
  for (const wire::Function& function : model.functions) {
    functions_.emplace(FunctionKey(function.domain, function.name, function.overload), &function);
  }
  for (std::string_view names = model.frozen; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    frozen_.insert(name);
  }
}

std::string Reader::Called(const wire::Node& node) {
  const std::string_view name = !node.name.empty()      ? node.name
                                : !node.outputs.empty() ? node.outputs.front()
                                                        : std::string_view();
  return fmt::format("the node {} ({})", Quoted(name), Quoted(node.type));
}

bool Reader::Fail(std::string message) {
  if (!error_) error_ = core::Error{core::ErrorKind::kUsage, std::move(message)};
  return false;
}

bool Reader::Count(std::size_t more) {
  visited_ += std::min(more, kMostNodes + 1);
  if (visited_ <= kMostNodes) return true;
  return Fail(
      fmt::format("the model has more than {} nodes; no model needs that many", kMostNodes));
}

TensorId Reader::Add(std::string_view name) {
  Tensor& tensor = values_.tensors.emplace_back();
  tensor.name = std::string(name.substr(0, kLongestName));
  values_.facts.emplace_back();
  return static_cast<TensorId>(values_.tensors.size() - 1);
}

bool Reader::Define(std::string_view name, TensorId id, Scope& scope) {
  if (scope.names.emplace(name, id).second) return true;
  return Fail(fmt::format("the value {} is made twice; export the model again", Quoted(name)));
}

std::optional<TensorId> Reader::Find(std::string_view name, const Scope& scope) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto found = at->names.find(name); found != at->names.end()) return found->second;
  }
  return std::nullopt;
}

// Float tensors are taken for weights until it is seen who reads them.
void Reader::IsInitializer(TensorId id) {
  Tensor& tensor = values_.tensors[Index(id)];
  Fact& fact = values_.facts[Index(id)];
  tensor.role = Role::kConstant;
  fact.initializer = true;
  fact.origin = IsFloat(tensor.dtype) && Elements(tensor) > 1 ? kFromWeights : kFromConstants;
}

bool Reader::ReadInitializers(const wire::Graph& graph, Scope& scope) {
  for (const wire::TensorData& data : graph.initializers) {
    const TensorId id = Add(data.name);
    Tensor& tensor = values_.tensors.back();
    Fact& fact = values_.facts.back();
    tensor.dtype = TypeOf(data.element_type);
    const bool sane = data.dims.size() <= kMostDims &&
                      std::all_of(data.dims.begin(), data.dims.end(),
                                  [](std::int64_t dim) { return dim >= 0 && dim <= kLargestDim; });
    if (!sane) {
      return Fail(
          fmt::format("the initializer {} has a shape that no tensor has; is the file damaged?",
                      Quoted(data.name)));
    }
    tensor.dims = data.dims;
    fact.numbers = NumbersOf(data);
    fact.frozen = frozen_.count(data.name) > 0;
    IsInitializer(id);
    if (!Define(data.name, id, scope)) return false;
  }
  return true;
}

core::Result<Graph> Reader::Read(const wire::Graph& graph) {
  Scope scope;
  scope.names.reserve(graph.initializers.size() + 2 * graph.nodes.size() + 16);
  scope.value_infos = &graph.value_infos;
  values_.tensors.reserve(graph.initializers.size() + 2 * graph.nodes.size() + 16);
  values_.facts.reserve(values_.tensors.capacity());
  ops_.reserve(graph.nodes.size());
  Graph result;
  bool good = ReadInitializers(graph, scope);
  std::size_t next = 0;
  for (const wire::ValueInfo& input : graph.inputs) {
    // Old files list initializers among the inputs: those are weights.
    const auto known = scope.names.find(input.name);
    if (!good || (known != scope.names.end() && values_.facts[Index(known->second)].initializer)) {
      continue;
    }
    const TensorId id = Add(input.name);
    Tensor& tensor = values_.tensors.back();
    tensor.role = Role::kInput;
    tensor.dtype = TypeOf(input.element_type);
    if (input.dims) tensor.dims = bound_.dims[next];
    ++next;
    values_.facts.back().origin = kFromData;
    good = Define(input.name, id, scope);
    result.inputs.push_back(id);
  }
  good = good && Count(graph.nodes.size()) && Walk(graph.nodes, scope);
  for (const wire::ValueInfo& output : graph.outputs) {
    const auto id = good ? Find(output.name, scope) : std::nullopt;
    if (good && !id) {
      good = Fail(fmt::format("the output {} is made by no node; export the model again",
                              Quoted(output.name)));
    }
    if (id && *id != kAbsent) result.outputs.push_back(*id);
  }
  if (!good) return tl::unexpected(*error_);
  result.tensors = std::move(values_.tensors);
  result.ops = std::move(ops_);
  return result;
}

bool Reader::Walk(const std::vector<wire::Node>& nodes, Scope& scope) {
  const auto runnable = [&](const wire::Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view name) {
      return name.empty() || Find(name, scope).has_value();
    });
  };
  std::size_t at = 0;
  while (at < nodes.size() && runnable(nodes[at])) {
    if (!Visit(nodes[at++], scope)) return false;
  }
  if (at == nodes.size()) return true;
  const auto rest = std::span(nodes).subspan(at);
  const auto found = RunningOrder(rest);
  if (!found) return Fail(found.error().message);
  if (!Count(found->reads / kOperandsOfANode)) return false;
  for (const std::size_t next : found->order) {
    if (!Visit(rest[next], scope)) return false;
  }
  return true;
}

bool Reader::Visit(const wire::Node& node, Scope& scope) {
  // Operands are no cheaper than nodes where there are many: a function of a megabyte of empty ones
  // could be called as often as the file has room for a call. Names are looked up by all of their
  // letters. The node itself was counted with its graph.
  std::size_t letters =
      node.name.size() + node.type.size() + node.domain.size() + node.overload.size();
  for (const std::string_view name : node.inputs) letters += name.size();
  for (const std::string_view name : node.outputs) letters += name.size();
  if (!Count((node.inputs.size() + node.outputs.size()) / kOperandsOfANode +
             letters / kBytesOfANode)) {
    return false;
  }
  if (!functions_.empty()) {
    const auto found = functions_.find(FunctionKey(node.domain, node.type, node.overload));
    if (found != functions_.end()) return Call(*found->second, node, scope);
  }
  if (node.domain.empty() || node.domain == "ai.onnx") {
    if (node.type == "If") return VisitIf(node, scope);
    if (node.type == "Loop") return VisitLoop(node, scope);
    if (node.type == "Scan") return VisitScan(node, scope);
  }
  return VisitOperator(node, scope);
}

bool Reader::Operands(const wire::Node& wire, Scope& scope, std::vector<TensorId>& ids) {
  ids.reserve(wire.inputs.size());
  for (const std::string_view name : wire.inputs) {
    if (name.empty()) {
      ids.push_back(kAbsent);
      continue;
    }
    const auto id = Find(name, scope);
    if (!id) {
      return Fail(fmt::format("{} reads {}, which nothing makes; export the model again",
                              Called(wire), Quoted(name)));
    }
    ids.push_back(*id);
  }
  return true;
}

bool Reader::Results(const wire::Node& wire, Scope& scope, std::vector<TensorId>& ids) {
  ids.reserve(wire.outputs.size());
  for (const std::string_view name : wire.outputs) {
    ids.push_back(name.empty() ? kAbsent : Add(name));
    if (!name.empty() && !Define(name, ids.back(), scope)) return false;
  }
  return true;
}

bool Reader::VisitOperator(const wire::Node& wire, Scope& scope) {
  Node node(wire, values_);
  if (!Operands(wire, scope, node.inputs) || !Results(wire, scope, node.outputs)) return false;
  const Rule* rule = FindRule(wire.domain, wire.type);
  if (rule != nullptr) {
    rule->shape(node);
    if (rule->fold != nullptr) rule->fold(node);
  }
  // A node that passes on thousands of numbers is short, and there could be a million of them.
  if (!Count(NumbersKnown(node.outputs, values_) / kOperandsOfANode)) return false;
  UseDeclared(node, scope);
  if (!node.clash().empty()) ++clashes_;
  Op op = Lowered(node, rule, values_);
  // Shape and Size look at a value's shape, which is the same at every step.
  std::uint8_t origin = kFromConstants;
  if (wire.type != "Shape" && wire.type != "Size") {
    for (const TensorId id : node.inputs) {
      if (id != kAbsent) origin |= values_.facts[Index(id)].origin;
    }
    if (wire.type.substr(0, 6) == "Random") origin |= kFromData;
  }
  for (const TensorId id : node.outputs) {
    if (id == kAbsent) continue;
    values_.facts[Index(id)].origin = origin;
    values_.facts[Index(id)].producer = static_cast<std::int32_t>(ops_.size());
  }
  // Some exporters keep weights in Constant nodes.
  if (wire.type == "Constant" && !node.outputs.empty() && node.outputs[0] != kAbsent) {
    IsInitializer(node.outputs[0]);
  }
  ReadWeightsDirectly(op, values_, ops_);
  MarkWeights(op, values_);
  op.folded_norm = pytorch_ && SwallowedNorm(op, values_);
  ops_.push_back(std::move(op));
  return true;
}

void Reader::UseDeclared(const Node& node, Scope& scope) {
  if (!declared_ || scope.value_infos == nullptr) return;
  const bool known = std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    return id == kAbsent || values_.tensors[Index(id)].dims.has_value();
  });
  if (known) return;
  if (!scope.declared) {
    scope.declared.emplace();
    for (const std::string_view bytes : *scope.value_infos) {
      scope.declared->emplace(wire::ReadValueInfo(bytes).name, bytes);
    }
  }
  for (const TensorId id : node.outputs) {
    if (id == kAbsent || values_.tensors[Index(id)].dims) continue;
    Tensor& tensor = values_.tensors[Index(id)];
    const auto found = scope.declared->find(tensor.name);
    if (found == scope.declared->end()) continue;
    const wire::ValueInfo value = wire::ReadValueInfo(found->second);
    if (value.element_type != 0) tensor.dtype = TypeOf(value.element_type);
    if (!value.dims || value.dims->size() > kMostDims) continue;
    Dims dims;
    for (const wire::Dim& dim : *value.dims) {
      // Plain names that the inputs bind are as good as numbers; "200*batch" is not evaluated.
      const auto symbol = bound_.symbols.find(dim.name);
      if (dim.value && *dim.value >= 0 && *dim.value <= kLargestDim) {
        dims.push_back(*dim.value);
      } else if (!dim.value && !dim.name.empty() && symbol != bound_.symbols.end()) {
        dims.push_back(symbol->second);
      } else {
        break;
      }
    }
    if (dims.size() == value.dims->size()) tensor.dims = std::move(dims);
  }
}

bool Reader::NotCosted(const wire::Node& wire, Scope& scope, std::string why) {
  Node node(wire, values_);
  if (!Operands(wire, scope, node.inputs) || !Results(wire, scope, node.outputs)) return false;
  UseDeclared(node, scope);
  Op op;
  op.type = std::string(wire.type.substr(0, kLongestName));
  op.name = std::string(wire.name.substr(0, kLongestName));
  op.inputs = node.inputs;
  op.outputs = node.outputs;
  op.why_unknown = std::move(why);
  for (const TensorId id : node.outputs) {
    if (id == kAbsent) continue;
    values_.facts[Index(id)].origin = kFromData;
    values_.facts[Index(id)].producer = static_cast<std::int32_t>(ops_.size());
  }
  ops_.push_back(std::move(op));
  return true;
}

}  // namespace sharewell::graph::onnx
