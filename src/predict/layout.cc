#include "predict/layout.h"

#include <algorithm>

namespace sharewell::predict {
namespace {

using graph::Dims;
using graph::Kind;

bool Transposes(const graph::Op& op) {
  return (op.kind == Kind::kView || op.kind == Kind::kMove) &&
         (op.type == "Transpose" || op.type.find("permute") != std::string::npos ||
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

}  // namespace

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
