#include "graph/pt2/node.h"

namespace sharewell::graph::pt2 {
namespace {

using json::Value;

// Empty where it is not there, or no text.
std::string_view TextAt(Value object, std::string_view key) {
  return object[key].Text().value_or("");
}

}  // namespace

void AppendTensors(Value argument, TensorNames& into) {
  for (const auto& [key, value] : argument.members()) {
    if (key == "as_tensor") {
      into.push_back(TextAt(value, "name"));
    } else if (key == "as_none") {
      into.emplace_back();
    } else if (key == "as_optional_tensor") {
      AppendTensors(value, into);
    } else if (key == "as_tensors" || key == "as_nested_tensors") {
      for (const Value item : value.items()) into.push_back(TextAt(item, "name"));
    } else if (key == "as_optional_tensors") {
      for (const Value item : value.items()) into.push_back(TextAt(item["as_tensor"], "name"));
    }
  }
}

// "key,path,class;key,path,class": the innermost module stands last.
std::string_view Node::name() const {
  std::string_view stack = TextAt(node_["metadata"], "nn_module_stack");
  stack = stack.substr(stack.rfind(';') + 1);
  const auto comma = stack.find(',');
  if (comma != std::string_view::npos) {
    stack.remove_prefix(comma + 1);
    const std::string_view path = stack.substr(0, stack.find(','));
    if (!path.empty() && path.front() != '_') return path;
  }
  const std::string_view own = TextAt(node_, "name");
  if (!own.empty()) return own;
  const TensorNames outputs = Outputs();
  return outputs.empty() ? std::string_view() : outputs.front();
}

TensorNames Node::Inputs() const {
  TensorNames names;
  for (const Value input : node_["inputs"].items()) AppendTensors(input["arg"], names);
  return names;
}

TensorNames Node::Outputs() const {
  TensorNames names;
  for (const Value output : node_["outputs"].items()) AppendTensors(output, names);
  return names;
}

Value Node::Find(std::string_view argument) const {
  for (const Value input : node_["inputs"].items()) {
    if (TextAt(input, "name") == argument && input.Has("arg")) return input["arg"];
  }
  return {};
}

TensorNames Node::Tensors(std::string_view argument) const {
  TensorNames names;
  AppendTensors(Find(argument), names);
  return names;
}

std::optional<std::int64_t> Node::Integer(std::string_view argument) const {
  return Find(argument)["as_int"].Whole();
}

std::optional<bool> Node::Bool(std::string_view argument) const {
  return Find(argument)["as_bool"].Bool();
}

std::optional<double> Node::Number(std::string_view argument) const {
  const Value found = Find(argument);
  if (const auto number = found["as_float"].Number()) return number;
  if (const auto whole = found["as_int"].Whole()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string_view Node::Words(std::string_view argument) const {
  return TextAt(Find(argument), "as_string");
}

std::optional<double> Node::Product(std::string_view argument, int times) const {
  double product = 1;
  std::size_t count = 0;
  for (const Value item : Find(argument)["as_ints"].items()) {
    const auto value = item.Whole();
    if (!value || *value < 1) return std::nullopt;
    product *= static_cast<double>(*value);
    ++count;
  }
  if (count == 0) return std::nullopt;
  if (count > 1) return product;
  double power = 1;
  for (int i = 0; i < times; ++i) power *= product;
  return power;
}

std::vector<Value> Node::Graphs() const {
  std::vector<Value> graphs;
  for (const Value input : node_["inputs"].items()) {
    const Value graph = input["arg"]["as_graph"];
    if (graph.Has("graph")) graphs.push_back(graph["graph"]);
  }
  return graphs;
}

TensorNames Node::Operands() const {
  TensorNames names;
  for (const Value input : node_["inputs"].items()) {
    if (!input.Has("arg")) continue;
    const Value argument = input["arg"];
    if (argument["as_graph"].is_object()) {
      names.clear();
      continue;
    }
    const std::size_t before = names.size();
    AppendTensors(argument, names);
    // Numbers take a place among the subgraph's inputs too.
    if (names.size() == before) names.emplace_back();
  }
  return names;
}

}  // namespace sharewell::graph::pt2
