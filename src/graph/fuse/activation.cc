#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/fuse/patterns.h"

namespace sharewell::graph::fuse {
namespace {

constexpr std::size_t kLargestTree = 8;

bool IsPointwise(const Op& op) {
  return (op.kind == Kind::kElementwise || op.kind == Kind::kActivation) && op.outputs.size() == 1;
}

// The operators between `id` and the one value x that it is computed from; kAbsent when there are
// several such values, or too many operators.
TensorId Source(const Rewriter& rewriter, TensorId id, std::vector<OpIndex>& tree) {
  TensorId x = kAbsent;
  std::vector<TensorId> open = {id};
  while (!open.empty()) {
    const TensorId next = open.back();
    open.pop_back();
    if (next == kAbsent || rewriter.IsNumber(next)) continue;
    const OpIndex maker = rewriter.Maker(next);
    const bool inner = maker != kNoOp && rewriter.OnlyReader(next) != kNoOp &&
                       IsPointwise(rewriter.At(maker)) && tree.size() < kLargestTree;
    if (inner) {
      tree.push_back(maker);
      open.insert(open.end(), rewriter.At(maker).inputs.begin(), rewriter.At(maker).inputs.end());
    } else if (x == kAbsent || x == next) {
      x = next;
    } else {
      return kAbsent;
    }
  }
  return x;
}

std::string_view NameFor(std::string_view centre) {
  if (centre == "Erf" || centre == "Tanh") return "Gelu";
  if (centre == "Sigmoid") return "Silu";
  return "HardSwish";
}

}  // namespace

bool FuseActivation(Rewriter& rewriter, OpIndex at) {
  const Op& centre = rewriter.At(at);
  const std::string_view type = centre.type;
  if (type != "Erf" && type != "Tanh" && type != "Sigmoid" && type != "HardSigmoid" &&
      type != "Clip") {
    return false;
  }
  if (centre.inputs.empty() || centre.outputs.size() != 1) return false;
  std::vector<OpIndex> parts = {at};
  const TensorId x = Source(rewriter, centre.inputs[0], parts);
  if (x == kAbsent) return false;
  // On from there: sums and factors that are numbers, and x itself (or half of it) exactly once.
  TensorId id = centre.outputs[0];
  OpIndex last = kNoOp;
  std::vector<OpIndex> behind;
  bool times_x = false;
  for (int left = 4; left > 0; --left) {
    const OpIndex next = rewriter.OnlyReader(id);
    if (next == kNoOp) break;
    const Op& op = rewriter.At(next);
    const TensorId other = rewriter.Other(next, id);
    if (other == kAbsent || op.outputs.size() != 1) break;
    if (rewriter.IsNumber(other) && (op.type == "Add" || op.type == "Mul" || op.type == "Div")) {
      behind.push_back(next);
    } else if (op.type == "Mul" && !times_x && other == x) {
      times_x = true;
      behind.push_back(next);
    } else if (op.type == "Mul" && !times_x && rewriter.OnlyReader(other) == next) {
      // x times a number, computed on the side.
      const OpIndex side = rewriter.Maker(other);
      if (side == kNoOp || rewriter.At(side).type != "Mul") break;
      const TensorId number = rewriter.Other(side, x);
      if (number == kAbsent || !rewriter.IsNumber(number)) break;
      times_x = true;
      behind.push_back(side);
      behind.push_back(next);
    } else {
      break;
    }
    id = op.outputs[0];
    last = next;
    // The factor one half may come last; anything else behind the product is the model's.
    if (times_x && !(type == "Erf" || type == "Tanh" || type == "Clip")) break;
  }
  if (!times_x || rewriter.RanApart(rewriter.At(last).outputs[0])) return false;
  parts.insert(parts.end(), behind.begin(), behind.end());
  Op fused;
  fused.kind = Kind::kActivation;
  fused.type = std::string(NameFor(type));
  fused.name = rewriter.At(last).name;
  fused.inputs = {x};
  fused.outputs = rewriter.At(last).outputs;
  fused.steps = rewriter.At(last).steps;
  rewriter.Replace(parts, last, std::move(fused));
  return true;
}

}  // namespace sharewell::graph::fuse
