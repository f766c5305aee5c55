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

std::size_t At(TensorId id) { return static_cast<std::size_t>(id); }

// Walks a step's operators forward and back, with what is alive at each.
class Walk {
 public:
  Walk(const Graph& graph, const Flow& flow, const Run& run)
      : graph_(graph),
        flow_(flow),
        run_(run),
        last_(graph.tensors.size(), 0),
        kept_(graph.tensors.size(), false),
        born_(graph.tensors.size(), false),
        extra_(graph.ops.size(), 0) {}

  void FindLifetimes(Memory& memory) {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const Keeps keeps = KeepsOf(op);
      const bool grad = run_.training && !op.outputs.empty() && op.outputs[0] != kAbsent &&
                        flow_.needs_grad[At(op.outputs[0])];
      const bool half = IsHalf(op, run_);
      for (const TensorId id : op.inputs) {
        if (id == kAbsent) continue;
        last_[Root(id)] = i;
        if (!grad || !keeps.inputs || !IsActivation(Root(id))) continue;
        if (half && flow_.width[At(id)] == 4) {
          extra_[i] += 2 * Elements(graph_.tensors[At(id)]);  // the half copy is what is kept
        } else {
          kept_[Root(id)] = true;
        }
      }
      for (const TensorId id : op.outputs) {
        if (id == kAbsent) continue;
        last_[Root(id)] = std::max(last_[Root(id)], i);
        if (op.kind != Kind::kView && op.kind != Kind::kHost) {
          memory.activations += flow_.Bytes(graph_, id);
        }
        if (grad && keeps.output) kept_[Root(id)] = true;
      }
      if (grad) {
        extra_[i] += keeps.extra * Elements(graph_.tensors[At(op.outputs[0])]) *
                     (op.kind == Kind::kRecurrent ? (half ? 2 : 4) : 1);
      }
      if (half) {
        for (const TensorId id : op.inputs) {
          if (IsWeight(graph_, id)) memory.copies += 2 * Elements(graph_.tensors[At(id)]);
        }
      }
      if (op.kind == Kind::kConv || op.kind == Kind::kDeconv) {
        memory.workspace = std::max(memory.workspace,
                                    std::min(256 * kMiB, 0.5 * flow_.Bytes(graph_, op.outputs[0])));
      }
    }
  }

  // Outputs come alive, and go when their last reader is done unless they are kept. The most that
  // was alive; live() is what is left at the end.
  double Forward() {
    double peak = 0;
    std::vector<std::vector<std::size_t>> dying(graph_.ops.size());
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (IsActivation(t) && !kept_[t] && flow_.storage[t] == static_cast<TensorId>(t)) {
        dying[std::min(last_[t], graph_.ops.empty() ? 0 : graph_.ops.size() - 1)].push_back(t);
      }
    }
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind == Kind::kHost) continue;
      for (const TensorId id : op.outputs) {
        if (id == kAbsent || Root(id) != At(id) || born_[At(id)]) continue;
        live_ += flow_.Bytes(graph_, id);
        born_[At(id)] = true;
      }
      live_ += extra_[i];
      peak = std::max(peak, live_);
      for (const std::size_t t : dying[i]) {
        if (born_[t]) live_ -= flow_.Bytes(graph_, static_cast<TensorId>(t));
        born_[t] = false;
      }
    }
    return peak;
  }

  // An operator's gradients come alive while what it kept is still there. Gradients of weights take
  // the place of the last step's, so they are counted once, from the start. The most above `saved`,
  // `transient` or more.
  double Backward(double transient, double saved) {
    double gradients = 0;
    std::vector<double> gradient(graph_.tensors.size(), 0);
    for (std::size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[i];
      if (op.kind == Kind::kHost || op.kind == Kind::kView) continue;
      for (const TensorId id : op.inputs) {
        if (id == kAbsent || !flow_.needs_grad[At(id)] || !IsActivation(Root(id))) continue;
        double& bytes = gradient[Root(id)];
        if (bytes > 0) continue;
        bytes = flow_.Bytes(graph_, static_cast<TensorId>(Root(id)));
        gradients += bytes;
      }
      transient = std::max(transient, gradients + live_ - saved);
      for (const TensorId id : op.outputs) {
        if (id == kAbsent) continue;
        const std::size_t t = Root(id);
        gradients -= gradient[t];
        gradient[t] = 0;
        if (kept_[t] && born_[t]) {
          live_ -= flow_.Bytes(graph_, static_cast<TensorId>(t));
          born_[t] = false;
        }
      }
      live_ -= extra_[i];
    }
    return transient;
  }

  double live() const { return live_; }

 private:
  std::size_t Root(TensorId id) const { return At(flow_.storage[At(id)]); }
  bool IsActivation(std::size_t t) const { return graph_.tensors[t].role == Role::kActivation; }

  const Graph& graph_;
  const Flow& flow_;
  const Run& run_;
  std::vector<std::size_t> last_;  // the last operator that reads each storage
  std::vector<bool> kept_;         // whether the backward pass wants it again
  std::vector<bool> born_;         // it is alive
  std::vector<double> extra_;      // bytes kept beside the tensors, by op
  double live_ = 0;
};

// What was alive is told; only what no tensor holds is added: workspaces, and the batch that comes
// while this one is worked on. What is not told is reckoned from what the operators leave.
Memory MemoryAsTold(const Graph& graph, const Flow& flow, const Run& run) {
  const ToldGraph& told = *graph.told;
  const ToldMemory& bytes = told.step.memory;
  Memory memory;
  memory.weights = bytes.parameters.value_or(told.step.parameters.value_or(told.trained) * 4);
  if (run.training) {
    memory.gradients = bytes.gradients.value_or(told.trained * 4);
    memory.optimizer = bytes.optimizer.value_or(told.trained * 4 * StatesOf(run.optimizer));
  }
  for (const TensorId id : graph.inputs) memory.inputs += 2 * flow.Bytes(graph, id);
  double widest = 0, fresh = 0;
  for (const Op& op : graph.ops) {
    if (op.told->as != ToldUse::As::kForward || op.kind == Kind::kView || op.outputs.empty())
      continue;
    const double out = flow.Bytes(graph, op.outputs[0]);
    widest = std::max(widest, out);
    memory.activations += out * op.told->count;
    if (!op.told->in_place) fresh += out * op.told->count;
    if (op.kind == Kind::kConv || op.kind == Kind::kDeconv) {
      memory.workspace = std::max(memory.workspace, std::min(256 * kMiB, 0.5 * out));
    }
  }
  memory.workspace += 32 * kMiB;
  if (!run.training) {
    memory.transient = 2 * widest;
    return memory;
  }
  memory.copies = told.half_copies;
  // What fused kernels make on their way is computed again rather than kept; a compiled step is
  // told by its graph, before that is decided (data/h200/ways.csv: 0.4 to 0.9 of it).
  constexpr double kKeptByCompilers = 0.7;
  if (told.step.compiled.value_or(false)) fresh *= kKeptByCompilers;
  const double held = memory.weights + memory.gradients + memory.optimizer;
  const double beside = memory.copies + memory.inputs / 2;
  memory.saved = std::max(0.0, bytes.saved.value_or(fresh + beside) - beside);
  const double reckoned = held + beside + memory.saved + 2 * widest;
  const double peak = bytes.peak.value_or(reckoned);
  memory.transient = std::max(0.0, peak - held - beside - memory.saved);
  return memory;
}

}  // namespace

Memory MemoryOf(const Graph& graph, const Flow& flow, const Run& run) {
  if (graph.told) return MemoryAsTold(graph, flow, run);
  Memory memory;
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
  Walk walk(graph, flow, run);
  walk.FindLifetimes(memory);
  memory.workspace += 32 * kMiB;  // what matrix libraries take once
  const double peak = walk.Forward();
  if (!run.training) {
    memory.transient = peak;
    return memory;
  }
  memory.saved = walk.live();
  memory.transient = std::max(0.0, walk.Backward(peak - memory.saved, memory.saved));
  return memory;
}

}  // namespace sharewell::graph
