#include "graph/pt2/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/text/quoted.h"
#include "graph/pt2/lower.h"
#include "graph/pt2/sizes.h"
#include "json/value.h"

namespace sharewell::graph::pt2 {
namespace {

using core::Result;
using json::Value;

struct Input {
  std::string_view name;   // in the graph
  std::string_view shown;  // as the model's author knows it: "conv1.weight"
  Role role = Role::kInput;
};

std::string_view Text(Value value) { return value.Text().value_or(""); }

// What the signature says of the graph's inputs. Those that are no tensors are left out.
std::vector<Input> InputsOf(Value signature) {
  std::vector<Input> inputs;
  for (const Value spec : signature["input_specs"].items()) {
    for (const auto& [kind, what] : spec.members()) {
      Input input;
      if (kind == "user_input") {
        input.name = Text(what["arg"]["as_tensor"]["name"]);
      } else if (kind == "parameter") {
        input = {Text(what["arg"]["name"]), Text(what["parameter_name"]), Role::kWeight};
      } else if (kind == "buffer") {
        input = {Text(what["arg"]["name"]), Text(what["buffer_name"]), Role::kConstant};
      } else if (kind == "tensor_constant") {
        input = {Text(what["arg"]["name"]), Text(what["tensor_constant_name"]), Role::kConstant};
      }
      if (!input.name.empty()) inputs.push_back(input);
    }
  }
  return inputs;
}

// Parameters that were frozen are not trained; when all are, it was the export that froze them.
void FreezeParameters(std::vector<Input>& inputs, const Lowering::Scope& scope) {
  const auto frozen = [&](const Input& input) {
    const auto meta = scope.metas.find(input.name);
    return meta != scope.metas.end() && meta->second["requires_grad"].Bool() == false;
  };
  const auto trained = [&](const Input& input) {
    return input.role == Role::kWeight && !frozen(input);
  };
  if (std::none_of(inputs.begin(), inputs.end(), trained)) return;
  for (Input& input : inputs) {
    if (input.role == Role::kWeight && frozen(input)) input.role = Role::kConstant;
  }
}

// The leading dimension that all inputs have in common.
std::optional<std::int64_t> CommonLead(const Graph& graph) {
  std::optional<std::int64_t> lead;
  for (const TensorId id : graph.inputs) {
    const auto& dims = graph.tensors[static_cast<std::size_t>(id)].dims;
    if (!dims) return std::nullopt;
    if (dims->empty()) continue;
    if (lead && *lead != dims->front()) return std::nullopt;
    lead = dims->front();
  }
  return lead;
}

TensorNames OutputsOf(Value graph_module) {
  TensorNames names;
  for (const Value spec : graph_module["signature"]["output_specs"].items()) {
    AppendTensors(spec["user_output"]["arg"], names);
  }
  return names;
}

Result<void> FixBatch(Graph& graph, const std::string& name, const Binding& binding) {
  const auto lead = CommonLead(graph);
  if (lead && *lead > 0) {
    Rebatch(graph, *lead, binding.batch);
    return {};
  }
  if (binding.batch == 1) return {};
  return core::UsageError(
      "{}: was exported for fixed sizes and its inputs have no leading dimension in common, so it "
      "cannot be read for a batch of {}; export it with a dynamic batch: torch.export.export(..., "
      "dynamic_shapes=...)",
      name, binding.batch);
}

}  // namespace

void Rebatch(Graph& graph, std::int64_t exported, std::int64_t batch) {
  if (exported == batch) return;
  std::vector<bool> grows(graph.tensors.size(), false);
  // The first dimension of that size, else the first that it divides (batch x heads, batch x
  // tokens), is where the batch went.
  const auto grow = [&](TensorId id) {
    auto& dims = graph.tensors[static_cast<std::size_t>(id)].dims;
    if (!dims) return;
    auto at = std::find(dims->begin(), dims->end(), exported);
    if (at == dims->end()) {
      at = std::find_if(dims->begin(), dims->end(),
                        [&](std::int64_t dim) { return dim > 0 && dim % exported == 0; });
    }
    std::int64_t grown = 0;
    if (at == dims->end() || __builtin_mul_overflow(*at / exported, batch, &grown) ||
        grown > kLargestDim) {
      return;
    }
    *at = grown;
    grows[static_cast<std::size_t>(id)] = true;
  };
  for (const TensorId id : graph.inputs) grow(id);
  const double ratio = static_cast<double>(batch) / static_cast<double>(exported);
  for (Op& op : graph.ops) {
    const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return id != kAbsent && grows[static_cast<std::size_t>(id)];
    });
    if (!reads) continue;
    op.macs *= ratio;
    for (const TensorId id : op.outputs) {
      if (id != kAbsent && !grows[static_cast<std::size_t>(id)]) grow(id);
    }
  }
}

Result<Graph> ReadProgram(std::string_view text, const std::string& name, const Binding& binding) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) {
    return core::UsageError("{}: its graph: {}; export the model again", name,
                            parsed.error().message);
  }
  const Value root = parsed->root();
  const Value module = root["graph_module"];
  const Value body = module["graph"];
  const Value tensor_values = body["tensor_values"];
  if (!tensor_values.is_object()) {
    return core::UsageError(
        "{}: its JSON is no exported program (graph_module, graph and tensor_values are not "
        "there); save the model with torch.export.save",
        name);
  }
  Graph graph;
  graph.format = "torch.export";
  graph.batch = binding.batch;
  if (const auto version = Text(root["torch_version"]); !version.empty()) {
    const std::string shown = core::Quoted(version);
    graph.producer = "pytorch " + shown.substr(1, shown.size() - 2);
  }
  Lowering::Scope scope = Lowering::ScopeOf(body);
  std::vector<Input> inputs = InputsOf(module["signature"]);
  FreezeParameters(inputs, scope);
  std::vector<Value> user_inputs;
  for (const Input& input : inputs) {
    const auto meta = scope.metas.find(input.name);
    if (input.role == Role::kInput && meta != scope.metas.end())
      user_inputs.push_back(meta->second);
  }
  auto sizes = Sizes::Bind(tensor_values, user_inputs, name, binding);
  RETURN_IF_ERROR(sizes);

  Lowering lowering(graph, *sizes, name);
  for (const Input& input : inputs) {
    if (scope.ids.contains(input.name)) continue;
    const auto id = lowering.Make(scope, input.name, input.role, input.shown);
    RETURN_IF_ERROR(id);
    if (input.role == Role::kInput) graph.inputs.push_back(*id);
  }
  RETURN_IF_ERROR(lowering.All(scope, body));
  if (graph.ops.empty()) {
    return core::UsageError("{}: its graph has no operators, so there is nothing to cost", name);
  }
  for (const std::string_view output : OutputsOf(module)) {
    if (const auto id = scope.ids.find(output); id != scope.ids.end()) {
      graph.outputs.push_back(id->second);
    }
  }
  if (!sizes->has_open_batch()) {
    RETURN_IF_ERROR(FixBatch(graph, name, binding));
  }
  return graph;
}

}  // namespace sharewell::graph::pt2
