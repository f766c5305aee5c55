#include "graph/cost.h"

#include <algorithm>

namespace sharewell::graph {
namespace {

// How often each kind passes over its data and how many kernels that takes. A pass reads or writes
// one tensor of the output's size. From reading PyTorch's kernels; the learned residual takes what
// is left.
struct Passes {
  double forward, backward;                  // passes over the data
  double forward_kernels, backward_kernels;  // launches
};

Passes PassesOf(const Op& op) {
  switch (op.kind) {
    case Kind::kNorm:
      return IsBatchNorm(op) ? Passes{3, 5, 1, 1} : Passes{2, 4, 1, 2};
    case Kind::kSoftmax:
      return {2, 3, 1, 1};
    case Kind::kActivation:
      return {2, 3, 1, 1};
    case Kind::kDropout:
      return {2.25, 2.25, 1, 1};
    default:
      return {0, 0, 1, 1};
  }
}

struct Costing {
  const Graph& graph;
  const Flow& flow;
  const Run& run;

  double Bytes(TensorId id) const { return flow.Bytes(graph, id); }
  bool NeedsGrad(TensorId id) const {
    if (graph.told) return id != kAbsent;  // what has none was told so
    return id != kAbsent && flow.needs_grad[static_cast<std::size_t>(id)];
  }
  double Sum(const std::vector<TensorId>& ids) const {
    double sum = 0;
    for (const TensorId id : ids) sum += Bytes(id);
    return sum;
  }
  double Out(const Op& op) const { return Sum(op.outputs); }

  // Operand bytes of a matrix product or convolution as its kernel reads them.
  double Operands(const Op& op, bool half) const {
    double sum = 0;
    for (const TensorId id : op.inputs) {
      if (id == kAbsent) continue;
      sum += half ? Elements(graph.tensors[static_cast<std::size_t>(id)]) * 2 : Bytes(id);
    }
    return sum;
  }

  OpCost Product(const Op& op, std::size_t index) const {
    OpCost cost;
    cost.half = op.told ? op.told->half : IsHalf(op, run);
    cost.tensor = true;
    const double in = Operands(op, cost.half);
    const double out = Out(op);
    const double recurrent_kernels =
        op.kind == Kind::kRecurrent ? 2 * static_cast<double>(op.steps) : 1;
    cost.forward = {2 * op.macs, in + out, recurrent_kernels, 1};
    // Copies to half precision: read 4 bytes, write 2, an element.
    const double casts = op.told ? op.told->casts : flow.casts[index] + flow.weight_casts[index];
    if (op.told) cost.forward.bytes += 6 * op.told->cast_elements;
    for (const TensorId id : op.inputs) {
      if (!cost.half || op.told || id == kAbsent || casts == 0) continue;
      if (flow.width[static_cast<std::size_t>(id)] == 4) {
        cost.forward.bytes += 6 * Elements(graph.tensors[static_cast<std::size_t>(id)]);
      }
    }
    cost.forward.kernels += casts;
    cost.forward.calls += casts;
    // One product of the forward size for each operand that wants a gradient.
    const std::size_t operands = op.kind == Kind::kAttention
                                     ? std::min<std::size_t>(op.inputs.size(), 3)
                                     : std::min<std::size_t>(op.inputs.size(), 2);
    double gradients = 0;
    for (std::size_t i = 0; i < operands; ++i) gradients += NeedsGrad(op.inputs[i]) ? 1 : 0;
    if (op.told) gradients = op.told->gradients;
    if (gradients == 0) return cost;
    if (op.kind == Kind::kAttention) {
      cost.backward = {2 * 2.5 * op.macs, 2 * (in + out), 2, 1};
    } else if (op.kind == Kind::kRecurrent) {
      cost.backward = {2 * 2 * op.macs, 2 * (in + out), 3 * static_cast<double>(op.steps), 1};
    } else {
      cost.backward = {2 * gradients * op.macs, gradients * (in + out), gradients, 1};
    }
    cost.backward.kernels += casts;
    cost.backward.bytes += cost.forward.bytes - in - out;
    return cost;
  }

  OpCost Pointwise(const Op& op) const {
    OpCost cost;
    double in = 0;
    double wanting = 0;
    for (const TensorId id : op.inputs) {
      in += Bytes(id);
      wanting += NeedsGrad(id) ? 1 : 0;
    }
    const double out = Out(op);
    const double elements = op.outputs.empty() || op.outputs[0] == kAbsent
                                ? 0
                                : Elements(graph.tensors[static_cast<std::size_t>(op.outputs[0])]);
    cost.forward = {elements, in + out, 1, 1};
    if (wanting == 0) return cost;
    // A sum hands its gradient on; everything else computes one for each operand that wants it.
    if (IsSum(op)) {
      cost.backward = {0, 0, 0, 1};
      for (const TensorId id : op.inputs) {  // a broadcast operand's gradient is summed up
        if (NeedsGrad(id) && Bytes(id) < 0.9 * out) cost.backward += {elements, out, 1, 0};
      }
    } else {
      cost.backward = {elements * wanting, 3 * out * wanting, wanting, 1};
    }
    return cost;
  }

  OpCost Of(const Op& op, std::size_t index) const {
    const double out = Out(op);
    const double in = Sum(op.inputs);
    const bool grad = !op.outputs.empty() && NeedsGrad(op.outputs[0]);
    const double elements = op.outputs.empty() || op.outputs[0] == kAbsent
                                ? 0
                                : Elements(graph.tensors[static_cast<std::size_t>(op.outputs[0])]);
    OpCost cost;
    switch (op.kind) {
      case Kind::kConv:
      case Kind::kDeconv:
      case Kind::kMatMul:
      case Kind::kAttention:
      case Kind::kRecurrent:
        return Product(op, index);
      case Kind::kElementwise:
        return Pointwise(op);
      case Kind::kNorm:
      case Kind::kSoftmax:
      case Kind::kActivation:
      case Kind::kDropout: {
        const Passes passes = PassesOf(op);
        cost.forward = {elements * 4, passes.forward * out, passes.forward_kernels, 1};
        if (grad) cost.backward = {elements * 6, passes.backward * out, passes.backward_kernels, 1};
        return cost;
      }
      case Kind::kReduction:
        cost.forward = {in / 4, in + out, 1, 1};
        if (grad) cost.backward = {in / 4, in + out, 1, 1};
        return cost;
      case Kind::kPool: {
        const double window = static_cast<double>(op.kernel);
        cost.forward = {elements * window, in + out, 1, 1};
        if (grad) cost.backward = {elements * window, 2 * in + 2 * out, 2, 1};
        return cost;
      }
      case Kind::kResample:
        cost.forward = {elements * 8, in + out, 1, 1};
        if (grad) cost.backward = {elements * 8, 2 * in + out, 2, 1};
        return cost;
      case Kind::kEmbedding:
        cost.forward = {0, 2 * out, 1, 1};
        // The gradient is as large as the table: cleared, then summed into; sorting the indices
        // takes several kernels.
        if (grad) {
          cost.backward = {elements, (op.inputs.empty() ? 0 : Bytes(op.inputs[0])) + 3 * out, 6, 1};
        }
        return cost;
      case Kind::kMove:
        cost.forward = {0, 2 * out, 1, 1};
        if (grad) cost.backward = {0, 2 * out, 1, 1};
        return cost;
      case Kind::kView:
        cost.forward = {0, 0, 0, 1};
        if (grad) cost.backward = {0, 0, 0, 1};
        return cost;
      case Kind::kUnknown:
        if (op.told) cost.forward = {elements, in + out, 1, 1};
        return cost;
      case Kind::kHost:
        return cost;
    }
    return cost;
  }

  // Of a told operator: all its calls, in the pass that it was told in.
  OpCost Told(const Op& op, std::size_t index) const {
    const ToldUse& use = *op.told;
    OpCost cost = Of(op, index);
    const Work forward = cost.forward, backward = cost.backward;
    cost.forward = cost.backward = {};
    switch (use.as) {
      case ToldUse::As::kForward:
        cost.forward = forward;
        cost.backward.calls = use.nodes;
        break;
      case ToldUse::As::kAgain:
        cost.backward = forward;
        cost.backward.calls = 0;
        cost.forward.calls = forward.calls;
        break;
      case ToldUse::As::kPlain:
        cost.backward = forward;
        cost.backward.calls = 0;
        break;
      case ToldUse::As::kBackward:
        cost.backward = backward;
        cost.backward.calls = 0;
        break;
    }
    if (!run.training) cost.backward = {};
    for (Work* work : {&cost.forward, &cost.backward}) {
      work->flops *= use.count;
      work->bytes *= use.count;
      work->kernels *= use.count;
      work->calls *= use.count;
    }
    return cost;
  }
};

Work UpdateOf(Optimizer optimizer, double params, double tensors) {
  // PyTorch's foreach kernels: each takes up to about sixty tensors, and 320 blocks of 65,536.
  constexpr double kTensors = 60, kNumbers = 320.0 * 65'536;
  const double batches = std::max(1.0, tensors / kTensors + params / kNumbers);
  switch (optimizer) {
    case Optimizer::kSgd:
      return {2 * params, 3 * 4 * params, batches, 2};
    case Optimizer::kMomentum:
      return {4 * params, 8 * 4 * params, 3 * batches, 4};
    case Optimizer::kAdam:
      break;
  }
  return {12 * params, 21 * 4 * params, 8 * batches, 14};
}

}  // namespace

Cost CostOf(const Graph& graph, const Flow& flow, const Run& run) {
  const Costing costing{graph, flow, run};
  Cost cost;
  cost.ops.reserve(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    cost.ops.push_back(op.told ? costing.Told(op, i) : costing.Of(op, i));
    cost.forward += cost.ops.back().forward;
    cost.backward += cost.ops.back().backward;
    if (!op.told) cost.macs += op.macs;
    if (op.told && op.told->as == ToldUse::As::kForward) cost.macs += op.macs * op.told->count;
    cost.uncosted += op.kind == Kind::kUnknown ? 1 : 0;
  }
  // Where several operators read a tensor, their gradients are added up.
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role == Role::kWeight) ++cost.weights;
    if (!flow.needs_grad[t] || tensor.role != Role::kActivation || flow.consumers[t] < 2) continue;
    const double more = flow.consumers[t] - 1;
    const double elements = Elements(tensor);
    cost.backward += {elements * more, 3 * elements * flow.width[t] * more, more, 0};
  }
  cost.params = Params(graph);
  for (const Op& op : graph.ops) cost.weights += op.restored ? 2 : 0;
  for (const TensorId id : graph.inputs) cost.input_bytes += flow.Bytes(graph, id);
  for (const TensorId id : graph.outputs) {
    if (id != kAbsent)
      cost.output_elements += Elements(graph.tensors[static_cast<std::size_t>(id)]);
  }
  if (run.training) cost.update = UpdateOf(run.optimizer, cost.params, cost.weights);
  if (graph.told) {
    const ToldGraph& told = *graph.told;
    cost.weights = told.trained_tensors;
    if (run.training) {
      cost.update = {told.update_flops, told.update_bytes, told.update_kernels, told.update_calls};
    }
  }
  return cost;
}

}  // namespace sharewell::graph
