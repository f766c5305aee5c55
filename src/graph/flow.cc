#include "graph/flow.h"

#include <algorithm>

namespace sharewell::graph {
namespace {

bool IsFloat(DType type) {
  return type == DType::kFloat || type == DType::kHalf || type == DType::kDouble ||
         type == DType::kUnknown;
}

// Autocast runs these in fp32 whatever comes in.
bool WidensToFloat(const Op& op) {
  return op.kind == Kind::kSoftmax || (op.kind == Kind::kNorm && !IsBatchNorm(op));
}

// In ONNX; torch.export says itself what is trained.
bool IsSine(const Op& op) { return op.type == "Sin" || op.type == "Cos"; }

}  // namespace

bool IsHalf(const Op& op, const Run& run) {
  if (!run.mixed()) return false;
  switch (op.kind) {
    case Kind::kConv:
    case Kind::kDeconv:
    case Kind::kMatMul:
    case Kind::kAttention:
    case Kind::kRecurrent:
      return true;
    default:
      return false;
  }
}

bool IsSum(const Op& op) {
  return op.type == "Add" || op.type == "Sub" || op.type == "Sum" ||
         op.type.find("aten.add") != std::string::npos ||
         op.type.find("aten.sub") != std::string::npos;
}

bool IsBatchNorm(const Op& op) { return op.restored || op.type.find("atch") != std::string::npos; }

double Params(const Graph& graph) {
  if (graph.told) return graph.told->trained;
  double params = graph.hidden_params;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role == Role::kWeight) params += Elements(tensor);
  }
  return params;
}

bool IsWeight(const Graph& graph, TensorId id) {
  return id != kAbsent && graph.tensors[static_cast<std::size_t>(id)].role == Role::kWeight;
}

namespace {

// Types are told, and no operator reads another's tensors.
void FlowAsTold(const Graph& graph, const Run& run, Flow& flow) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    flow.width[i] = BytesOf(graph.tensors[i].dtype);
    flow.needs_grad[i] = run.training && graph.tensors[i].role == Role::kWeight;
    flow.storage[i] = static_cast<TensorId>(i);
  }
}

}  // namespace

Flow FlowOf(const Graph& graph, const Run& run) {
  Flow flow;
  const std::size_t tensors = graph.tensors.size();
  flow.needs_grad.assign(tensors, false);
  flow.width.resize(tensors);
  flow.consumers.assign(tensors, 0);
  flow.storage.resize(tensors);
  flow.casts.assign(graph.ops.size(), 0);
  flow.weight_casts.assign(graph.ops.size(), 0);
  if (graph.told) {
    FlowAsTold(graph, run, flow);
    return flow;
  }
  std::vector<bool> sampled(tensors);  // depends on what the model is given
  for (std::size_t i = 0; i < tensors; ++i) {
    const Tensor& tensor = graph.tensors[i];
    // A file saved in half precision trains in what the run says.
    flow.width[i] =
        IsFloat(tensor.dtype) && tensor.dtype != DType::kDouble ? 4 : BytesOf(tensor.dtype);
    flow.needs_grad[i] = run.training && tensor.role == Role::kWeight;
    flow.storage[i] = static_cast<TensorId>(i);
    sampled[i] = tensor.role == Role::kInput;
  }
  std::vector<bool> cast_already(tensors, false);  // autocast keeps the half copy of a weight
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind == Kind::kHost) continue;
    const bool half = IsHalf(op, run);
    bool grad = false, of_samples = false;
    int widest = 0;
    for (const TensorId id : op.inputs) {
      if (id == kAbsent) continue;
      const auto t = static_cast<std::size_t>(id);
      ++flow.consumers[t];
      grad = grad || flow.needs_grad[t];
      of_samples = of_samples || sampled[t];
      const Tensor& tensor = graph.tensors[t];
      if (!IsFloat(tensor.dtype)) continue;
      if (tensor.role == Role::kActivation || tensor.role == Role::kInput) {
        widest = std::max(widest, flow.width[t]);
      }
      if (half && flow.width[t] == 4) {
        if (tensor.role == Role::kWeight) {
          if (!cast_already[t]) ++flow.weight_casts[i];
          cast_already[t] = true;
        } else if (tensor.dims && !tensor.dims->empty()) {
          ++flow.casts[i];
        }
      }
    }
    // Waves that are the same for all samples are of positions, which nobody trains, though files
    // keep what they are made of among the weights.
    if (IsSine(op) && !of_samples) grad = false;
    for (const TensorId id : op.outputs) {
      if (id == kAbsent) continue;
      const auto t = static_cast<std::size_t>(id);
      sampled[t] = of_samples;
      if (!IsFloat(graph.tensors[t].dtype)) continue;
      flow.needs_grad[t] = grad;
      if (half) {
        flow.width[t] = 2;
      } else if (WidensToFloat(op)) {
        flow.width[t] = 4;
      } else if (widest > 0) {
        flow.width[t] = widest;
      }
    }
    if (op.kind == Kind::kView && !op.inputs.empty() && op.inputs[0] != kAbsent) {
      for (const TensorId id : op.outputs) {
        if (id != kAbsent) {
          flow.storage[static_cast<std::size_t>(id)] =
              flow.storage[static_cast<std::size_t>(op.inputs[0])];
        }
      }
    }
  }
  return flow;
}

}  // namespace sharewell::graph
