#include "advice/inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/cost.h"
#include "graph/flow.h"
#include "graph/memory.h"
#include "predict/op_class.h"
#include "predict/operands.h"

namespace sharewell::advice {
namespace {

std::string ShapeOf(const graph::Graph& graph, const graph::Op& op) {
  if (op.outputs.empty() || op.outputs[0] == graph::kAbsent) return "";
  const graph::Tensor& tensor = graph.tensors[static_cast<std::size_t>(op.outputs[0])];
  return tensor.dims ? fmt::format("{}", fmt::join(*tensor.dims, "x")) : "";
}

// A layer is called by its weight where it has one ("layer1.0.conv1"), else by its own name.
std::string LayerName(const graph::Graph& graph, const graph::Op& op) {
  for (const graph::TensorId id : op.inputs) {
    if (!graph::IsWeight(graph, id)) continue;
    const std::string& weight = graph.tensors[static_cast<std::size_t>(id)].name;
    const std::size_t dot = weight.rfind('.');
    if (dot != std::string::npos && dot > 0) return weight.substr(0, dot);
  }
  return op.name;
}

bool DoesWork(const graph::Op& op) {
  return op.kind != graph::Kind::kHost && op.kind != graph::Kind::kView;
}

LayerRow RowOf(const graph::Graph& graph, const graph::Flow& flow, const graph::Op& op,
               const graph::OpCost& cost) {
  LayerRow row;
  row.name = LayerName(graph, op);
  row.type = op.type;
  row.kind = std::string(graph::NameOf(op.kind));
  row.shape = ShapeOf(graph, op);
  row.macs = op.macs;
  row.flops_forward = cost.forward.flops;
  row.flops_backward = cost.backward.flops;
  row.bytes_forward = cost.forward.bytes;
  row.bytes_backward = cost.backward.bytes;
  row.kernels_forward = cost.forward.kernels;
  row.kernels_backward = cost.backward.kernels;
  row.calls_forward = cost.forward.calls;
  row.calls_backward = cost.backward.calls;
  row.groups = op.groups;
  row.window = op.kernel;
  row.steps = op.steps;
  const predict::OpClass of = predict::ClassOf(graph, op);
  if (of != predict::OpClass::kNone) {
    row.rate_class = predict::kOpClassNames[static_cast<std::size_t>(of)];
  }
  row.contraction = predict::Contraction(graph, op);
  row.restored = op.restored;
  row.dilation = op.dilation;
  row.operands = predict::OperandsOf(graph, flow, op);
  for (const graph::TensorId id : op.inputs) {
    if (graph::IsWeight(graph, id))
      row.params += Elements(graph.tensors[static_cast<std::size_t>(id)]);
  }
  return row;
}

}  // namespace

Inspection Inspect(const graph::Graph& graph, const graph::Run& run, std::string file) {
  const graph::Flow flow = graph::FlowOf(graph, run);
  const graph::Cost cost = graph::CostOf(graph, flow, run);
  const graph::Memory memory = graph::MemoryOf(graph, flow, run);

  Inspection out;
  out.file = std::move(file);
  out.format = graph.format;
  out.producer = graph.producer;
  out.precision = std::string(graph::NameOf(run.precision));
  if (run.training) out.optimizer = std::string(graph::NameOf(run.optimizer));
  out.batch = graph.batch;
  out.told = graph.told.has_value();
  out.macs_per_sample = cost.macs / static_cast<double>(std::max<std::int64_t>(1, graph.batch));
  out.params = cost.params;
  out.nodes = graph.ops.size();
  out.flops_forward = cost.forward.flops;
  out.bytes_forward = cost.forward.bytes;
  out.kernels = out.kernels_forward = cost.forward.kernels;
  if (run.training) {
    out.flops_backward = cost.backward.flops;
    out.bytes_backward = cost.backward.bytes;
    out.flops_update = cost.update.flops;
    out.bytes_update = cost.update.bytes;
    out.kernels_backward = cost.backward.kernels;
    out.kernels_update = cost.update.kernels;
    out.kernels += out.kernels_backward + out.kernels_update;
  }
  const double bytes = out.bytes_forward + out.bytes_backward + out.bytes_update;
  out.intensity =
      bytes > 0 ? (out.flops_forward + out.flops_backward + out.flops_update) / bytes : 0;
  out.activations = memory.activations;
  out.input_bytes = cost.input_bytes;
  out.peak = memory.Peak();
  out.weights = memory.weights + memory.copies;
  out.gradients = memory.gradients;
  out.optimizer_states = memory.optimizer;
  out.saved = memory.saved;
  out.transient = memory.transient + memory.inputs;
  out.workspace = memory.workspace;

  out.weight_tensors = cost.weights;
  for (const graph::TensorId id : graph.inputs) {
    const graph::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    (tensor.dtype == graph::DType::kFloat ? out.float_inputs : out.other_inputs) +=
        Elements(tensor);
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const graph::Op& op = graph.ops[i];
    // A told operator runs so often a step; its backward pass is told by itself.
    const double calls = op.told ? std::max(op.told->count, 1.0) : 1;
    out.counts[std::string(graph::NameOf(op.kind))] += static_cast<std::size_t>(calls);
    if (op.kind == graph::Kind::kUnknown) {
      out.uncosted.push_back({op.name, op.type, op.why_unknown});
      continue;
    }
    if (op.kind == graph::Kind::kView) {
      out.view_calls += cost.ops[i].forward.calls + cost.ops[i].backward.calls;
    }
    if (!DoesWork(op)) continue;
    out.layers.push_back(RowOf(graph, flow, op, cost.ops[i]));
  }
  return out;
}

}  // namespace sharewell::advice
