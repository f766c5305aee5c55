#include "predict/layout.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace sharewell::predict {
namespace {

using graph::Dims;
using graph::Kind;

bool Transposes(const graph::Op& op) {
  return (op.kind == Kind::kView || op.kind == Kind::kMove) &&
         (op.type == "Transpose" || op.type == "Permute" ||
          op.type.find("permute") != std::string::npos ||
          op.type.find("transpose") != std::string::npos);
}

// (n, h, w, c) to (n, c, h, w), as far as dimensions tell.
bool BringsChannelsForward(const Dims& in, const Dims& out) {
  return in.size() == 4 && out.size() == 4 && in[0] == out[0] && in[1] == out[2] &&
         in[2] == out[3] && in[3] == out[1];
}

bool Keeps(Kind kind) {
  switch (kind) {
    case Kind::kConv:
    case Kind::kNorm:
    case Kind::kActivation:
    case Kind::kElementwise:
    case Kind::kPool:
    case Kind::kDropout:
      return true;
    default:
      return false;
  }
}

// Dimensions of one are nowhere in memory.
Dims WithoutOnes(const Dims& dims) {
  Dims out;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(out),
               [](std::int64_t d) { return d != 1; });
  return out;
}

// Follows the order of memory through the graph, operator by operator.
class Orders {
 public:
  explicit Orders(const graph::Graph& graph)
      : graph_(graph), last_(ChannelsLast(graph)), memory_(graph.tensors.size()) {}

  // Elements that are copied before it.
  double Pass(const graph::Op& op) {
    if (op.inputs.empty() || op.outputs.empty()) return 0;
    const Dims* in = DimsOf(op.inputs[0]);
    const Dims* out = DimsOf(op.outputs[0]);
    if (in == nullptr || out == nullptr) return 0;
    if (Transposes(op)) {
      const bool in_place = op.kind == Kind::kView && IsActivation(op.inputs[0]);
      if (in_place) Leave(op.outputs[0], InMemory(op.inputs[0]).value_or(*in));
      return 0;
    }
    switch (op.kind) {
      case Kind::kAttention: {
        // Fused kernels write heads beside each other, sample by sample.
        Dims order = *out;
        if (order.size() == 4) std::swap(order[1], order[2]);
        Leave(op.outputs[0], order);
        return 0;
      }
      case Kind::kActivation:
      case Kind::kElementwise:
      case Kind::kDropout:
        return Pointwise(op, *out);
      case Kind::kMatMul:
        return Product(op);
      case Kind::kView:
        return Reshape(op, *in, *out);
      case Kind::kConv:
      case Kind::kDeconv:
      case Kind::kNorm:
      case Kind::kSoftmax:
        return InMemory(op.inputs[0]) && !last_[Index(op.inputs[0])] ? Size(op.inputs[0]) : 0;
      default:
        return 0;
    }
  }

 private:
  static std::size_t Index(graph::TensorId id) { return static_cast<std::size_t>(id); }
  double Size(graph::TensorId id) const { return Elements(graph_.tensors[Index(id)]); }
  bool IsActivation(graph::TensorId id) const {
    return id != graph::kAbsent && graph_.tensors[Index(id)].role == graph::Role::kActivation;
  }
  const Dims* DimsOf(graph::TensorId id) const {
    if (id == graph::kAbsent) return nullptr;
    const auto& of = graph_.tensors[Index(id)].dims;
    return of ? &*of : nullptr;
  }
  // The dimensions in the order of memory, where that is another.
  std::optional<Dims> InMemory(graph::TensorId id) const {
    return id == graph::kAbsent ? std::nullopt : memory_[Index(id)];
  }
  void Leave(graph::TensorId id, const Dims& order) {
    const Dims* dims = DimsOf(id);
    if (dims != nullptr && WithoutOnes(order) != WithoutOnes(*dims)) memory_[Index(id)] = order;
  }

  // The result lies as the first operand does; what lies otherwise is read across.
  double Pointwise(const graph::Op& op, const Dims& out) {
    double copied = 0;
    graph::TensorId first = graph::kAbsent;
    for (const graph::TensorId id : op.inputs) {
      const Dims* dims = DimsOf(id);
      if (!IsActivation(id) || dims == nullptr || *dims != out) continue;
      if (first == graph::kAbsent) {
        first = id;
        memory_[Index(op.outputs[0])] = memory_[Index(id)];
      } else if (memory_[Index(id)] != memory_[Index(first)]) {
        copied += Size(id);
      }
    }
    return copied;
  }

  double Product(const graph::Op& op) const {
    const bool weight = std::any_of(op.inputs.begin(), op.inputs.end(), [&](graph::TensorId id) {
      return id != graph::kAbsent && !IsActivation(id);
    });
    double copied = 0;
    for (const graph::TensorId id : op.inputs) {
      const std::optional<Dims> order = InMemory(id);
      if (!order) continue;
      // Two activations: a matrix is read either way round.
      Dims turned = *DimsOf(id);
      if (turned.size() > 1) std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
      if (weight || *order != turned) copied += Size(id);
    }
    return copied;
  }

  double Reshape(const graph::Op& op, const Dims& in, const Dims& out) {
    const graph::TensorId id = op.inputs[0];
    // What takes a part is a view of any order.
    if (!InMemory(id) || last_[Index(id)] || Size(id) != Size(op.outputs[0])) return 0;
    if (WithoutOnes(in) != WithoutOnes(out)) return Size(id);
    memory_[Index(op.outputs[0])] = memory_[Index(id)];
    return 0;
  }

  const graph::Graph& graph_;
  std::vector<bool> last_;
  std::vector<std::optional<Dims>> memory_;  // by tensor
};

}  // namespace

std::vector<double> CopiedBefore(const graph::Graph& graph) {
  Orders orders(graph);
  std::vector<double> copied;
  copied.reserve(graph.ops.size());
  for (const graph::Op& op : graph.ops) copied.push_back(orders.Pass(op));
  return copied;
}

std::vector<bool> ChannelsLast(const graph::Graph& graph) {
  std::vector<bool> last(graph.tensors.size(), false);
  const auto dims = [&](graph::TensorId id) -> const Dims* {
    if (id == graph::kAbsent) return nullptr;
    const auto& of = graph.tensors[static_cast<std::size_t>(id)].dims;
    return of ? &*of : nullptr;
  };
  for (const graph::Op& op : graph.ops) {
    if (op.inputs.empty() || op.outputs.empty()) continue;
    const Dims* out = dims(op.outputs[0]);
    if (out == nullptr || out->size() != 4) continue;
    bool is = false;
    if (Transposes(op)) {
      const Dims* in = dims(op.inputs[0]);
      is = in != nullptr && BringsChannelsForward(*in, *out);
    } else if (Keeps(op.kind)) {
      is = std::any_of(op.inputs.begin(), op.inputs.end(), [&](graph::TensorId id) {
        return id != graph::kAbsent && last[static_cast<std::size_t>(id)];
      });
    }
    for (const graph::TensorId id : op.outputs) {
      if (id != graph::kAbsent) last[static_cast<std::size_t>(id)] = is;
    }
  }
  return last;
}

}  // namespace sharewell::predict
