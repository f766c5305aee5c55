#include "graph/restore.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/fuse/patterns.h"
#include "graph/fuse/rewriter.h"

namespace sharewell::graph {
namespace {

std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }

// Batch norms that an exporter folded into convolutions, put back behind them.
void PutNormsBack(Graph& graph) {
  const auto folded = [](const Op& op) {
    return op.folded_norm && !op.outputs.empty() && op.outputs[0] != kAbsent;
  };
  const auto count = std::count_if(graph.ops.begin(), graph.ops.end(), folded);
  if (count == 0) return;
  std::vector<Op> ops;
  ops.reserve(graph.ops.size() + static_cast<std::size_t>(count));
  std::vector<TensorId> now(graph.tensors.size());  // what readers of a tensor read instead
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<TensorId>(i);
  for (Op& op : graph.ops) {
    for (TensorId& id : op.inputs) {
      if (id != kAbsent) id = now[Index(id)];
    }
    ops.push_back(std::move(op));
    Op& conv = ops.back();
    if (!folded(conv)) continue;
    conv.folded_norm = false;
    const TensorId before = conv.outputs[0];
    Tensor after = graph.tensors[Index(before)];
    const double channels =
        after.dims && after.dims->size() > 1 ? static_cast<double>((*after.dims)[1]) : 0;
    after.role = Role::kActivation;
    after.name += ".norm";
    graph.tensors.push_back(std::move(after));
    const auto id = static_cast<TensorId>(graph.tensors.size() - 1);
    now[Index(before)] = id;
    Op norm;
    norm.kind = Kind::kNorm;
    norm.type = "BatchNormalization";
    norm.name = conv.name.empty() ? "" : conv.name + ".norm";
    norm.inputs = {before};
    norm.outputs = {id};
    norm.steps = conv.steps;
    norm.restored = true;
    // A bias in the file is what the norm's shift became; convolutions under a norm have none.
    graph.hidden_params += 2 * channels;
    if (conv.inputs.size() > 2 && conv.inputs[2] != kAbsent &&
        graph.tensors[Index(conv.inputs[2])].role == Role::kWeight) {
      graph.hidden_params -= Elements(graph.tensors[Index(conv.inputs[2])]);
    }
    ops.push_back(std::move(norm));
  }
  for (TensorId& id : graph.outputs) id = now[Index(id)];
  graph.ops = std::move(ops);
}

void FuseKernels(Graph& graph) {
  fuse::Rewriter rewriter(graph);
  rewriter.DropUnread();
  for (fuse::OpIndex i = 0; i < rewriter.size(); ++i) {
    if (rewriter.Gone(i)) continue;
    switch (rewriter.At(i).kind) {
      case Kind::kSoftmax:
        FuseAttention(rewriter, i);
        break;
      case Kind::kActivation:
        FuseActivation(rewriter, i);
        break;
      case Kind::kElementwise:
        FuseNorm(rewriter, i);
        break;
      case Kind::kNorm:
        if (!FuseStatistics(rewriter, i)) FuseScaledNorm(rewriter, i);
        break;
      case Kind::kMatMul:
        FuseBias(rewriter, i);
        break;
      default:
        break;
    }
  }
  rewriter.Finish();
}

bool IsVector(const Tensor& tensor) {
  return tensor.dims && std::count_if(tensor.dims->begin(), tensor.dims->end(),
                                      [](std::int64_t dim) { return dim > 1; }) == 1;
}

// Exporters keep one of several equal tensors. Fresh scales are all ones and fresh shifts all
// zeros, so each norm and each bias that reads a vector others read too has one of its own in
// training. Where matrices are shared as well the model shares layers, and its vectors are meant to
// be.
void CountMerged(Graph& graph) {
  std::vector<int> matrix_uses(graph.tensors.size(), 0);
  std::vector<int> vector_uses(graph.tensors.size(), 0);
  for (const Op& op : graph.ops) {
    const bool layer =
        op.kind == Kind::kConv || op.kind == Kind::kDeconv || op.kind == Kind::kMatMul;
    const bool reads = layer || op.kind == Kind::kNorm || op.kind == Kind::kElementwise;
    if (!reads) continue;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      if (id == kAbsent || graph.tensors[Index(id)].role != Role::kWeight) continue;
      if (op.type == "BatchNormalization" && i >= 3) continue;
      if (layer && i == 1) {
        ++matrix_uses[Index(id)];
      } else if (IsVector(graph.tensors[Index(id)])) {
        ++vector_uses[Index(id)];
      }
    }
  }
  if (std::any_of(matrix_uses.begin(), matrix_uses.end(), [](int uses) { return uses > 1; }))
    return;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (vector_uses[i] > 1)
      graph.hidden_params += (vector_uses[i] - 1) * Elements(graph.tensors[i]);
  }
}

// What is only ever added to the scores of an attention is a mask, or a bias that the exporter has
// already looked up in its far smaller table: not trained in this form, however much it looks like
// a weight. Biases of a layer that ends in a softmax are vectors; those are trained.
void MasksAreConstants(Graph& graph) {
  std::vector<bool> mask(graph.tensors.size(), false);
  std::vector<bool> other(graph.tensors.size(), false);
  for (const TensorId id : graph.outputs) other[Index(id)] = true;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    // Views and sums are used as what is made of them.
    const bool passes = (op->kind == Kind::kView || op->type == "Add") && !op->outputs.empty() &&
                        op->outputs[0] != kAbsent;
    const bool passed = passes && mask[Index(op->outputs[0])] && !other[Index(op->outputs[0])];
    for (std::size_t i = 0; i < op->inputs.size(); ++i) {
      if (op->inputs[i] == kAbsent) continue;
      const bool as_mask =
          passed || op->kind == Kind::kSoftmax || (op->kind == Kind::kAttention && i >= 3);
      (as_mask ? mask : other)[Index(op->inputs[i])] = true;
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    Tensor& tensor = graph.tensors[i];
    if (mask[i] && !other[i] && tensor.role == Role::kWeight && !IsVector(tensor)) {
      tensor.role = Role::kConstant;
    }
  }
}

}  // namespace

void Restore(Graph& graph) {
  PutNormsBack(graph);
  FuseKernels(graph);
  MasksAreConstants(graph);
  if (graph.format.compare(0, 4, "ONNX") == 0) CountMerged(graph);
}

}  // namespace sharewell::graph
