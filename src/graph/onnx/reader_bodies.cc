// What a Reader walks inside a node: the file's own functions, and the bodies of If, Loop and Scan.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/onnx/reader.h"

namespace sharewell::graph::onnx {
namespace {

constexpr int kDeepestBody = 32;  // subgraphs in subgraphs, functions in functions

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

bool Reader::Call(const wire::Function& function, const wire::Node& node, Scope& scope) {
  if (scope.depth >= kDeepestBody) {
    return Fail(fmt::format("{} calls functions more than {} deep; export the model again",
                            Called(node), kDeepestBody));
  }
  Scope inner;
  inner.depth = scope.depth + 1;
  std::vector<TensorId> arguments;
  if (!Operands(node, scope, arguments)) return false;
  // All of the body at once, before it is copied: functions in functions have all of theirs.
  if (!Count(function.nodes.size() + function.inputs.size() / kOperandsOfANode)) return false;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const TensorId id = i < arguments.size() ? arguments[i] : kAbsent;
    if (!Define(function.inputs[i], id, inner)) return false;
  }
  // Attributes of the body may be the caller's, by reference.
  std::vector<wire::Node> body = function.nodes;
  for (wire::Node& line : body) {
    std::vector<wire::Attribute> attributes;
    if (!Count(line.attributes.size() / kOperandsOfANode)) return false;
    for (const wire::Attribute& attribute : line.attributes) {
      if (!Count(attribute.bytes.size() / kBytesOfANode)) return false;
      const auto refers_to = wire::ReadAttribute(attribute.bytes).refers_to;
      if (refers_to.empty()) {
        attributes.push_back(attribute);
        continue;
      }
      if (!Count((node.attributes.size() + function.defaults.size()) / kOperandsOfANode)) {
        return false;
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
  // What is declared in it too: a body in a function is read with each call.
  if (!Count(body.nodes.size() + body.initializers.size() + body.inputs.size() +
             body.outputs.size() + body.value_infos.size())) {
    return false;
  }
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

// Which branch runs is only known where the condition is; else the one with more work stands for
// both.
bool Reader::VisitIf(const wire::Node& wire, Scope& scope) {
  if (scope.depth >= kDeepestBody) return NotCosted(wire, scope, "it lies too deep in subgraphs");
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
    // The other one was read as well.
    if (!Count(((*condition)[0] != 0 ? *else_branch : *then_branch).nodes.size())) return false;
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
  if (scope.depth >= kDeepestBody) return NotCosted(wire, scope, "it lies too deep in subgraphs");
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
  if (scope.depth >= kDeepestBody) return NotCosted(wire, scope, "it lies too deep in subgraphs");
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
