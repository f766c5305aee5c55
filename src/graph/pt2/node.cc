#include "graph/pt2/node.h"

namespace sharewell::graph::pt2 {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::string_view NameIn(element tensor) {
  std::string_view name;
  return tensor["name"].get(name) == simdjson::SUCCESS ? name : std::string_view();
}

// Nothing to visit where there is no list.
template <class List, class Visit>
void ForEach(List&& list, Visit&& visit) {
  array items;
  if (list.get(items) != simdjson::SUCCESS) return;
  for (const element item : items) visit(item);
}

}  // namespace

void AppendTensors(element argument, TensorNames& into) {
  object fields;
  if (argument.get(fields) != simdjson::SUCCESS) return;
  for (const auto [key, value] : fields) {
    if (key == "as_tensor") {
      into.push_back(NameIn(value));
    } else if (key == "as_none") {
      into.emplace_back();
    } else if (key == "as_optional_tensor") {
      AppendTensors(value, into);
    } else if (key == "as_tensors" || key == "as_nested_tensors") {
      ForEach(value, [&](element item) { into.push_back(NameIn(item)); });
    } else if (key == "as_optional_tensors") {
      ForEach(value, [&](element item) {
        element tensor;
        const bool given = item["as_tensor"].get(tensor) == simdjson::SUCCESS;
        into.push_back(given ? NameIn(tensor) : std::string_view());
      });
    }
  }
}

std::string_view Node::Text(simdjson::simdjson_result<element> value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// "key,path,class;key,path,class": the innermost module stands last.
std::string_view Node::name() const {
  std::string_view stack = Text(json_["metadata"]["nn_module_stack"]);
  stack = stack.substr(stack.rfind(';') + 1);
  const auto comma = stack.find(',');
  if (comma != std::string_view::npos) {
    stack.remove_prefix(comma + 1);
    const std::string_view path = stack.substr(0, stack.find(','));
    if (!path.empty() && path.front() != '_') return path;
  }
  const std::string_view own = Text(json_["name"]);
  if (!own.empty()) return own;
  const TensorNames outputs = Outputs();
  return outputs.empty() ? std::string_view() : outputs.front();
}

TensorNames Node::Inputs() const {
  TensorNames names;
  ForEach(json_["inputs"], [&](element input) {
    element argument;
    if (input["arg"].get(argument) == simdjson::SUCCESS) AppendTensors(argument, names);
  });
  return names;
}

TensorNames Node::Outputs() const {
  TensorNames names;
  ForEach(json_["outputs"], [&](element output) { AppendTensors(output, names); });
  return names;
}

simdjson::simdjson_result<element> Node::Find(std::string_view argument) const {
  simdjson::simdjson_result<element> found(simdjson::NO_SUCH_FIELD);
  ForEach(json_["inputs"], [&](element input) {
    if (found.error() != simdjson::SUCCESS && Text(input["name"]) == argument) found = input["arg"];
  });
  return found;
}

TensorNames Node::Tensors(std::string_view argument) const {
  TensorNames names;
  element found;
  if (Find(argument).get(found) == simdjson::SUCCESS) AppendTensors(found, names);
  return names;
}

std::optional<std::int64_t> Node::Integer(std::string_view argument) const {
  std::int64_t value = 0;
  if (Find(argument)["as_int"].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<bool> Node::Bool(std::string_view argument) const {
  bool value = false;
  if (Find(argument)["as_bool"].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<double> Node::Number(std::string_view argument) const {
  double value = 0;
  if (Find(argument)["as_float"].get(value) == simdjson::SUCCESS) return value;
  if (const auto whole = Integer(argument)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string_view Node::Words(std::string_view argument) const {
  return Text(Find(argument)["as_string"]);
}

std::optional<double> Node::Product(std::string_view argument, int times) const {
  double product = 1;
  std::size_t count = 0;
  bool sound = true;
  ForEach(Find(argument)["as_ints"], [&](element item) {
    std::int64_t value = 0;
    sound = sound && item.get(value) == simdjson::SUCCESS && value >= 1;
    product *= static_cast<double>(value);
    ++count;
  });
  if (count == 0 || !sound) return std::nullopt;
  if (count > 1) return product;
  double power = 1;
  for (int i = 0; i < times; ++i) power *= product;
  return power;
}

std::vector<element> Node::Graphs() const {
  std::vector<element> graphs;
  ForEach(json_["inputs"], [&](element input) {
    element graph;
    if (input["arg"]["as_graph"]["graph"].get(graph) == simdjson::SUCCESS) graphs.push_back(graph);
  });
  return graphs;
}

TensorNames Node::Operands() const {
  TensorNames names;
  ForEach(json_["inputs"], [&](element input) {
    element argument;
    if (input["arg"].get(argument) != simdjson::SUCCESS) return;
    object graph;
    if (argument["as_graph"].get(graph) == simdjson::SUCCESS) {
      names.clear();
      return;
    }
    const std::size_t before = names.size();
    AppendTensors(argument, names);
    // Numbers take a place among the subgraph's inputs too.
    if (names.size() == before) names.emplace_back();
  });
  return names;
}

}  // namespace sharewell::graph::pt2
