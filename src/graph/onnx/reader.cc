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

constexpr int kDeepest = 32;  // subgraphs in subgraphs, functions in functions
constexpr std::size_t kLongestName = 256;

std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }

std::string FunctionKey(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}\n{}\n{}", domain, name, overload);
}

std::string Called(const wire::Node& node) {
  const std::string_view name = !node.name.empty()      ? node.name
                                : !node.outputs.empty() ? node.outputs.front()
                                                        : std::string_view();
  return fmt::format("the node {} ({})", Quoted(name), Quoted(node.type));
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

}  // namespace

Reader::Reader(const wire::Model& model, const BoundInputs& bound, bool declared)
    : bound_(bound), declared_(declared), pytorch_(model.producer.substr(0, 7) == "pytorch") {
  for (const wire::Function& function : model.functions) {
    functions_.emplace(FunctionKey(function.domain, function.name, function.overload), &function);
  }
}

bool Reader::Fail(std::string message) {
  if (!error_) error_ = core::Error{core::ErrorKind::kUsage, std::move(message)};
  return false;
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

const wire::Function* Reader::FunctionOf(const wire::Node& node) const {
  const auto found = functions_.find(FunctionKey(node.domain, node.type, node.overload));
  return found == functions_.end() ? nullptr : found->second;
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
  good = good && Walk(graph.nodes, scope);
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
  const auto order = RunningOrder(rest);
  if (!order) return Fail(order.error().message);
  for (const std::size_t next : *order) {
    if (!Visit(rest[next], scope)) return false;
  }
  return true;
}

bool Reader::Visit(const wire::Node& node, Scope& scope) {
  if (++visited_ > kMostNodes) {
    return Fail(
        fmt::format("the model has more than {} nodes; no model needs that many", kMostNodes));
  }
  if (!functions_.empty()) {
    if (const wire::Function* function = FunctionOf(node)) return Call(*function, node, scope);
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

bool Reader::Call(const wire::Function& function, const wire::Node& node, Scope& scope) {
  if (scope.depth >= kDeepest) {
    return Fail(fmt::format("{} calls functions more than {} deep; export the model again",
                            Called(node), kDeepest));
  }
  Scope inner;
  inner.depth = scope.depth + 1;
  std::vector<TensorId> arguments;
  if (!Operands(node, scope, arguments)) return false;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const TensorId id = i < arguments.size() ? arguments[i] : kAbsent;
    if (!Define(function.inputs[i], id, inner)) return false;
  }
  // Attributes of the body may be the caller's, by reference.
  std::vector<wire::Node> body = function.nodes;
  for (wire::Node& line : body) {
    std::vector<wire::Attribute> attributes;
    for (const wire::Attribute& attribute : line.attributes) {
      visited_ += attribute.bytes.size() / 4096;  // long ones are no cheaper than nodes
      const auto refers_to = wire::ReadAttribute(attribute.bytes).refers_to;
      if (refers_to.empty()) {
        attributes.push_back(attribute);
        continue;
      }
      const auto named = [&](const wire::Attribute& given) { return given.name == refers_to; };
      auto found = std::find_if(node.attributes.begin(), node.attributes.end(), named);
      const bool given = found != node.attributes.end();
      if (!given) found = std::find_if(function.defaults.begin(), function.defaults.end(), named);
      if (given || found != function.defaults.end()) {
        attributes.push_back({attribute.name, found->bytes});
      }
    }
    line.attributes = std::move(attributes);
  }
  if (!Walk(body, inner)) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const auto id = i < function.outputs.size() ? Find(function.outputs[i], inner) : std::nullopt;
    if (!id) {
      return Fail(fmt::format("{} wants a result that its function does not make", Called(node)));
    }
    if (!Define(node.outputs[i], *id, scope)) return false;
  }
  return true;
}

bool Reader::Body(const wire::Graph& body, const std::vector<TensorId>& arguments, Scope& scope,
                  std::vector<TensorId>& results) {
  Scope inner;
  inner.outer = &scope;
  inner.depth = scope.depth + 1;
  inner.value_infos = &body.value_infos;
  if (!ReadInitializers(body, inner)) return false;
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const TensorId id = i < arguments.size() ? arguments[i] : kAbsent;
    if (!Define(body.inputs[i].name, id, inner)) return false;
  }
  if (!Walk(body.nodes, inner)) return false;
  for (const wire::ValueInfo& output : body.outputs) {
    const auto id = Find(output.name, inner);
    if (!id) {
      return Fail(
          fmt::format("the output {} of a subgraph is made by no node", Quoted(output.name)));
    }
    results.push_back(*id);
  }
  return true;
}

namespace {

double MacsFrom(const std::vector<Op>& ops, std::size_t first) {
  double macs = 0;
  for (std::size_t i = first; i < ops.size(); ++i) macs += ops[i].macs;
  return macs;
}

std::optional<wire::Graph> GraphAttribute(const Node& node, std::string_view name) {
  const auto value = node.Get(name);
  if (!value || value->graph.empty()) return std::nullopt;
  return wire::ReadGraph(value->graph);
}

}  // namespace

// Which branch runs is only known where the condition is; else the one with more work stands for
// both.
bool Reader::VisitIf(const wire::Node& wire, Scope& scope) {
  if (scope.depth >= kDeepest) return NotCosted(wire, scope, "it lies too deep in subgraphs");
  Node node(wire, values_);
  if (!Operands(wire, scope, node.inputs)) return false;
  const auto then_branch = GraphAttribute(node, "then_branch");
  const auto else_branch = GraphAttribute(node, "else_branch");
  if (!then_branch || !else_branch) return NotCosted(wire, scope, "a branch is missing");
  const auto condition = node.KnownInts(0);
  const bool known = condition && condition->size() == 1;
  const std::size_t first = ops_.size();
  std::vector<TensorId> results;
  if (known) {
    if (!Body((*condition)[0] != 0 ? *then_branch : *else_branch, {}, scope, results)) return false;
  } else {
    if (!Body(*then_branch, {}, scope, results)) return false;
    std::vector<Op> taken(
        std::make_move_iterator(ops_.begin() + static_cast<std::ptrdiff_t>(first)),
        std::make_move_iterator(ops_.end()));
    const double macs = MacsFrom(taken, 0);
    ops_.resize(first);
    std::vector<TensorId> others;
    if (!Body(*else_branch, {}, scope, others)) return false;
    if (macs >= MacsFrom(ops_, first)) {
      ops_.resize(first);
      std::move(taken.begin(), taken.end(), std::back_inserter(ops_));
    } else {
      results = std::move(others);
    }
  }
  for (std::size_t i = 0; i < wire.outputs.size(); ++i) {
    if (wire.outputs[i].empty()) continue;
    if (i >= results.size()) return Fail(Called(wire) + " has more results than its branches");
    if (!Define(wire.outputs[i], results[i], scope)) return false;
  }
  return true;
}

// The body is walked once and its work multiplied.
void Reader::Repeat(std::size_t first, std::int64_t times) {
  constexpr double kMostSteps = 1e15;
  for (std::size_t i = first; i < ops_.size(); ++i) {
    Op& op = ops_[i];
    op.macs *= static_cast<double>(times);
    op.steps = static_cast<std::int64_t>(
        std::min(static_cast<double>(op.steps) * static_cast<double>(times), kMostSteps));
  }
}

bool Reader::VisitLoop(const wire::Node& wire, Scope& scope) {
  if (scope.depth >= kDeepest) return NotCosted(wire, scope, "it lies too deep in subgraphs");
  Node node(wire, values_);
  if (!Operands(wire, scope, node.inputs)) return false;
  const auto body = GraphAttribute(node, "body");
  const auto trips = node.KnownInts(0);
  if (!body) return NotCosted(wire, scope, "its body is missing");
  if (!trips || trips->size() != 1 || (*trips)[0] < 0 || (*trips)[0] > kLargestDim) {
    return NotCosted(wire, scope, "how often it repeats is only known when the model runs");
  }
  const std::int64_t times = (*trips)[0];
  std::vector<TensorId> arguments;
  for (std::size_t i = 0; i < body->inputs.size(); ++i) {
    // The counter, the condition, then what is carried: the first values are not the later ones.
    const TensorId id = Add(body->inputs[i].name);
    Tensor& tensor = values_.tensors.back();
    values_.facts.back().origin = kFromData;
    if (i >= 2 && node.HasInput(i)) {
      const Tensor& carried = values_.tensors[Index(node.inputs[i])];
      tensor.dims = carried.dims;
      tensor.dtype = carried.dtype;
      values_.facts.back().origin |= values_.facts[Index(node.inputs[i])].origin;
    } else {
      tensor.dims = Dims();
      tensor.dtype = i == 0 ? DType::kInt64 : DType::kByte;
    }
    arguments.push_back(id);
  }
  const std::size_t first = ops_.size();
  std::vector<TensorId> results;
  if (!Body(*body, arguments, scope, results)) return false;
  Repeat(first, times);
  const std::size_t carried = node.inputs.size() > 2 ? node.inputs.size() - 2 : 0;
  for (std::size_t i = 0; i < wire.outputs.size(); ++i) {
    if (wire.outputs[i].empty()) continue;
    if (i + 1 >= results.size()) return Fail(Called(wire) + " has more results than its body");
    const TensorId inner = results[i + 1];
    if (i < carried) {
      if (!Define(wire.outputs[i], inner, scope)) return false;
      continue;
    }
    if (!Stack(wire, wire.outputs[i], inner, 0, times, scope)) return false;
  }
  return true;
}

// A value of every round, joined along a new axis.
bool Reader::Stack(const wire::Node& wire, std::string_view name, TensorId inner, std::size_t axis,
                   std::int64_t times, Scope& scope) {
  const TensorId id = Add(name);
  Tensor& tensor = values_.tensors.back();
  if (inner != kAbsent) {
    const Tensor& part = values_.tensors[Index(inner)];
    tensor.dtype = part.dtype;
    if (part.dims && part.dims->size() < kMostDims && axis <= part.dims->size()) {
      tensor.dims = part.dims;
      tensor.dims->insert(tensor.dims->begin() + static_cast<std::ptrdiff_t>(axis), times);
    }
  }
  values_.facts.back().origin = kFromData;
  values_.facts.back().producer = static_cast<std::int32_t>(ops_.size());
  Op op;
  op.kind = Kind::kMove;
  op.type = std::string(wire.type);
  op.name = std::string(wire.name.substr(0, kLongestName));
  op.inputs = {inner};
  op.outputs = {id};
  if (!tensor.dims) {
    op.kind = Kind::kUnknown;
    op.why_unknown = "the shape of what it collects is not known";
  }
  ops_.push_back(std::move(op));
  return Define(name, id, scope);
}

bool Reader::VisitScan(const wire::Node& wire, Scope& scope) {
  if (scope.depth >= kDeepest) return NotCosted(wire, scope, "it lies too deep in subgraphs");
  Node node(wire, values_);
  if (!Operands(wire, scope, node.inputs)) return false;
  const auto body = GraphAttribute(node, "body");
  const std::int64_t scanned = node.Int("num_scan_inputs", 0);
  const auto count = static_cast<std::int64_t>(node.inputs.size());
  // Scan-8 had one more input, and a batch in front of everything.
  if (!body || scanned < 1 || scanned > count || body->inputs.size() != node.inputs.size()) {
    return NotCosted(wire, scope, "its form is not known here");
  }
  const auto states = static_cast<std::size_t>(count - scanned);
  const Dims axes = node.Ints("scan_input_axes").value_or(Dims());
  std::optional<std::int64_t> times;
  std::vector<TensorId> arguments;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = Add(body->inputs[i].name);
    values_.facts.back().origin = kFromData;
    arguments.push_back(id);
    if (!node.HasInput(i)) continue;
    Tensor& tensor = values_.tensors.back();
    const Tensor& given = values_.tensors[Index(node.inputs[i])];
    tensor.dtype = given.dtype;
    tensor.dims = given.dims;
    if (i < states || !tensor.dims) continue;
    const std::size_t at = i - states;
    const auto axis = FromFront(at < axes.size() ? axes[at] : 0, tensor.dims->size());
    if (!axis) return NotCosted(wire, scope, "it scans an axis that is not there");
    times = (*tensor.dims)[*axis];
    tensor.dims->erase(tensor.dims->begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  if (!times)
    return NotCosted(wire, scope, "how often it repeats is only known when the model runs");
  const std::size_t first = ops_.size();
  std::vector<TensorId> results;
  if (!Body(*body, arguments, scope, results)) return false;
  Repeat(first, *times);
  const Dims out_axes = node.Ints("scan_output_axes").value_or(Dims());
  for (std::size_t i = 0; i < wire.outputs.size(); ++i) {
    if (wire.outputs[i].empty()) continue;
    if (i >= results.size()) return Fail(Called(wire) + " has more results than its body");
    if (i < states) {
      if (!Define(wire.outputs[i], results[i], scope)) return false;
      continue;
    }
    const std::size_t at = i - states;
    const std::int64_t axis = at < out_axes.size() ? out_axes[at] : 0;
    if (axis < 0 || axis > static_cast<std::int64_t>(kMostDims)) {
      return NotCosted(wire, scope, "it collects along an axis counted from behind");
    }
    if (!Stack(wire, wire.outputs[i], results[i], static_cast<std::size_t>(axis), *times, scope)) {
      return false;
    }
  }
  return true;
}

}  // namespace sharewell::graph::onnx
