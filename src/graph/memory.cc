#include "graph/memory.h"

#include <algorithm>
#include <vector>

namespace sharewell::graph {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// What the backward pass of an operator needs again.
struct Keeps {
  bool inputs = false, output = false;
  double extra = 0;  // bytes an output element: indices, masks
};

Keeps KeepsOf(const Op& op) {
  switch (op.kind) {
    case Kind::kConv:
    case Kind::kDeconv:
    case Kind::kMatMul:
      return {.inputs = true};
    case Kind::kAttention:
      return {.inputs = true, .output = true};
    case Kind::kRecurrent:
      // cuDNN keeps gates and cell states: about six numbers an output.
      return {.inputs = true, .output = true, .extra = 5};
    case Kind::kNorm:
      return {.inputs = true};
    case Kind::kSoftmax:
      return {.output = true};
    case Kind::kActivation: {
      // Known from their output alone; the others need their input.
      const bool by_output = op.type == "Relu" || op.type == "Sigmoid" || op.type == "Tanh" ||
                             op.type.find("aten.relu") != std::string::npos ||
                             op.type.find("aten.sigmoid") != std::string::npos ||
                             op.type.find("aten.tanh") != std::string::npos;
      return by_output ? Keeps{.output = true} : Keeps{.inputs = true};
    }
    case Kind::kElementwise:
      return IsSum(op) || op.inputs.size() < 2 ? Keeps{} : Keeps{.inputs = true};
    case Kind::kPool:
      // Max pooling keeps where the maximum was, eight bytes an output.
      return op.type.find("Max") != std::string::npos || op.type.find("max") != std::string::npos
                 ? Keeps{.inputs = true, .extra = 8}
                 : Keeps{.inputs = true};
    case Kind::kDropout:
      return {.extra = 1};
    default:
      return {};
  }
}

}  // namespace

Memory MemoryOf(const Graph& graph, const Flow& flow, const Run& run) {
  Memory memory;
  const auto index = [](TensorId id) { return static_cast<std::size_t>(id); };
  const auto root = [&](TensorId id) { return index(flow.storage[index(id)]); };
  const auto is_activation = [&](std::size_t t) {
    return graph.tensors[t].role == Role::kActivation;
  };

  const double params = Params(graph);
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role == Role::kConstant) memory.weights += Elements(tensor) * BytesOf(tensor.dtype);
  }
  memory.weights += params * 4;
  if (run.training) {
    memory.gradients = params * 4;
    memory.optimizer = params * 4 * StatesOf(run.optimizer);
  }
  for (const TensorId id : graph.inputs) memory.inputs += 2 * flow.Bytes(graph, id);

  // The last operator that reads each storage, and whether the backward pass wants it again.
  std::vector<std::size_t> last(graph.tensors.size(), 0);
  std::vector<bool> kept(graph.tensors.size(), false);
  std::vector<double> extra(graph.ops.size(), 0);  // bytes kept beside the tensors, by op
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const Keeps keeps = KeepsOf(op);
    const bool grad = run.training && !op.outputs.empty() && op.outputs[0] != kAbsent &&
                      flow.needs_grad[index(op.outputs[0])];
    const bool half = IsHalf(op, run);
    for (const TensorId id : op.inputs) {
      if (id == kAbsent) continue;
      last[root(id)] = i;
      if (!grad || !keeps.inputs || !is_activation(root(id))) continue;
      if (half && flow.width[index(id)] == 4) {
        extra[i] += 2 * Elements(graph.tensors[index(id)]);  // the half copy is what is kept
      } else {
        kept[root(id)] = true;
      }
    }
    for (const TensorId id : op.outputs) {
      if (id == kAbsent) continue;
      last[root(id)] = std::max(last[root(id)], i);
      if (op.kind != Kind::kView && op.kind != Kind::kHost) {
        memory.activations += flow.Bytes(graph, id);
      }
      if (!grad) continue;
      if (keeps.output) kept[root(id)] = true;
    }
    if (grad && !op.outputs.empty() && op.outputs[0] != kAbsent) {
      extra[i] += keeps.extra * Elements(graph.tensors[index(op.outputs[0])]) *
                  (op.kind == Kind::kRecurrent ? (half ? 2 : 4) : 1);
    }
    if (half) {
      for (const TensorId id : op.inputs) {
        if (IsWeight(graph, id)) memory.copies += 2 * Elements(graph.tensors[index(id)]);
      }
    }
    if (op.kind == Kind::kConv || op.kind == Kind::kDeconv) {
      memory.workspace =
          std::max(memory.workspace, std::min(256 * kMiB, 0.5 * flow.Bytes(graph, op.outputs[0])));
    }
  }
  memory.workspace += 32 * kMiB;  // what matrix libraries take once

  // Forward: outputs come alive, and go when their last reader is done unless they are kept.
  double live = 0;
  double peak = 0;
  std::vector<std::vector<std::size_t>> dying(graph.ops.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (is_activation(t) && !kept[t] && flow.storage[t] == static_cast<TensorId>(t)) {
      dying[std::min(last[t], graph.ops.empty() ? 0 : graph.ops.size() - 1)].push_back(t);
    }
  }
  std::vector<bool> born(graph.tensors.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind == Kind::kHost) continue;
    for (const TensorId id : op.outputs) {
      if (id == kAbsent || root(id) != index(id) || born[index(id)]) continue;
      live += flow.Bytes(graph, id);
      born[index(id)] = true;
    }
    live += extra[i];
    peak = std::max(peak, live);
    for (const std::size_t t : dying[i]) {
      if (born[t]) live -= flow.Bytes(graph, static_cast<TensorId>(t));
      born[t] = false;
    }
  }
  memory.saved = run.training ? live : 0;
  if (!run.training) {
    memory.transient = peak;
    return memory;
  }
  // Backward: an operator's gradients come alive while what it kept is still there. Gradients of
  // weights take the place of the last step's, so they are counted once, from the start.
  double gradients = 0;
  double transient = peak - live;
  std::vector<double> gradient(graph.tensors.size(), 0);
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    if (op.kind == Kind::kHost || op.kind == Kind::kView) continue;
    for (const TensorId id : op.inputs) {
      if (id == kAbsent || !flow.needs_grad[index(id)] || !is_activation(root(id))) continue;
      double& bytes = gradient[root(id)];
      if (bytes > 0) continue;
      bytes = flow.Bytes(graph, static_cast<TensorId>(root(id)));
      gradients += bytes;
    }
    transient = std::max(transient, gradients + live - memory.saved);
    for (const TensorId id : op.outputs) {
      if (id == kAbsent) continue;
      const std::size_t t = root(id);
      gradients -= gradient[t];
      gradient[t] = 0;
      if (kept[t] && born[t]) {
        live -= flow.Bytes(graph, static_cast<TensorId>(t));
        born[t] = false;
      }
    }
    live -= extra[i];
  }
  memory.transient = std::max(0.0, transient);
  return memory;
}

}  // namespace sharewell::graph
