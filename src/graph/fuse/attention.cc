#include <algorithm>
#include <utility>

#include "graph/fuse/patterns.h"

namespace sharewell::graph::fuse {
namespace {

constexpr int kLongestWay = 8;

struct Found {
  std::vector<OpIndex> parts;
  OpIndex scores = kNoOp;       // the product of queries and keys
  OpIndex values = kNoOp;       // the product with the values
  std::vector<TensorId> masks;  // and biases by position: what is added to the scores
};

bool IsProduct(const Rewriter& rewriter, OpIndex op) {
  return op != kNoOp && rewriter.At(op).kind == Kind::kMatMul &&
         rewriter.At(op).inputs.size() == 2 && !rewriter.IsWeight(rewriter.At(op).inputs[0]) &&
         !rewriter.IsWeight(rewriter.At(op).inputs[1]);
}

// From the softmax's operand back to the product that makes the scores.
bool WalkToScores(const Rewriter& rewriter, TensorId id, int left, Found& found) {
  if (left == 0 || rewriter.OnlyReader(id) == kNoOp) return false;
  const OpIndex maker = rewriter.Maker(id);
  if (maker == kNoOp) return false;
  if (IsProduct(rewriter, maker)) {
    found.scores = maker;
    return true;
  }
  const Op& op = rewriter.At(maker);
  const bool pointwise = op.kind == Kind::kElementwise && op.outputs.size() == 1;
  if (!pointwise && op.kind != Kind::kView) return false;
  const std::size_t operands = op.kind == Kind::kView ? 1 : op.inputs.size();
  for (std::size_t i = 0; i < operands; ++i) {
    const TensorId next = op.inputs[i];
    if (next == kAbsent || Elements(rewriter.Of(next)) != Elements(rewriter.Of(id))) continue;
    if (!WalkToScores(rewriter, next, left - 1, found)) continue;
    found.parts.push_back(maker);
    for (std::size_t j = 0; j < operands; ++j) {
      if (j != i && op.inputs[j] != kAbsent && !rewriter.IsNumber(op.inputs[j])) {
        found.masks.push_back(op.inputs[j]);
      }
    }
    return true;
  }
  return false;
}

// From the softmax's result on to the product with the values.
bool WalkToValues(const Rewriter& rewriter, TensorId id, Found& found) {
  for (int left = kLongestWay; left > 0; --left) {
    if (rewriter.IsOutput(id)) return false;
    OpIndex next = rewriter.OnlyReader(id);
    if (next == kNoOp) {
      // Rows that are masked altogether come out as NaN and are put to zero: IsNaN, then Where.
      const auto& readers = rewriter.Readers(id);
      if (readers.size() != 2) return false;
      const OpIndex test = rewriter.At(readers[0]).type == "IsNaN" ? readers[0] : readers[1];
      next = test == readers[0] ? readers[1] : readers[0];
      if (rewriter.At(test).type != "IsNaN" || rewriter.At(next).type != "Where" ||
          rewriter.OnlyReader(rewriter.At(test).outputs[0]) != next) {
        return false;
      }
      found.parts.push_back(test);
      found.parts.push_back(next);
      id = rewriter.At(next).outputs[0];
      continue;
    }
    const Op& op = rewriter.At(next);
    if (op.outputs.empty() || op.outputs[0] == kAbsent) return false;
    if (op.kind == Kind::kMatMul) {
      if (!IsProduct(rewriter, next) || op.inputs[0] != id) return false;
      found.values = next;
      return true;
    }
    const bool passes = op.kind == Kind::kDropout || op.kind == Kind::kView || op.type == "Cast";
    const bool single = op.outputs.size() == 1 || rewriter.Readers(op.outputs[1]).empty();
    if (!passes || !single || op.inputs[0] != id) return false;
    found.parts.push_back(next);
    id = op.outputs[0];
  }
  return false;
}

// Without the scale that the exporter multiplied queries and keys by beforehand.
TensorId Unscaled(const Rewriter& rewriter, TensorId id, std::vector<OpIndex>& parts) {
  const OpIndex maker = rewriter.Maker(id);
  if (maker == kNoOp || rewriter.OnlyReader(id) == kNoOp) return id;
  const Op& op = rewriter.At(maker);
  if ((op.type != "Mul" && op.type != "Div") || op.inputs.size() != 2) return id;
  const std::size_t number = rewriter.IsNumber(op.inputs[1]) ? 1 : 0;
  if (!rewriter.IsNumber(op.inputs[number]) || (op.type == "Div" && number == 0)) return id;
  parts.push_back(maker);
  return op.inputs[1 - number];
}

// Keys arrive transposed; the tensor before that, where views alone lie between.
TensorId Untransposed(const Rewriter& rewriter, TensorId id, std::vector<OpIndex>& parts) {
  const auto& dims = rewriter.Of(id).dims;
  if (!dims || dims->size() < 2) return id;
  Dims wanted = *dims;
  std::swap(wanted.end()[-1], wanted.end()[-2]);
  std::vector<OpIndex> views;
  bool turned = false;
  TensorId at = id;
  for (int left = kLongestWay; left > 0; --left) {
    const OpIndex maker = rewriter.Maker(at);
    if (maker == kNoOp || rewriter.OnlyReader(at) == kNoOp) return id;
    const Op& op = rewriter.At(maker);
    if (op.kind != Kind::kView || op.outputs.size() != 1 || op.inputs.empty() ||
        op.inputs[0] == kAbsent) {
      return id;
    }
    turned = turned || op.type == "Transpose";
    views.push_back(maker);
    at = op.inputs[0];
    if (turned && rewriter.Of(at).dims == wanted) {
      parts.insert(parts.end(), views.begin(), views.end());
      return at;
    }
  }
  return id;
}

}  // namespace

bool FuseAttention(Rewriter& rewriter, OpIndex at) {
  if (rewriter.At(at).kind != Kind::kSoftmax || rewriter.At(at).inputs.empty()) return false;
  Found found;
  found.parts.push_back(at);
  if (!WalkToScores(rewriter, rewriter.At(at).inputs[0], kLongestWay, found)) return false;
  if (!WalkToValues(rewriter, rewriter.At(at).outputs[0], found)) return false;
  const Op& scores = rewriter.At(found.scores);
  const Op& values = rewriter.At(found.values);
  if (rewriter.RanApart(values.outputs[0])) return false;
  Op fused;
  fused.kind = Kind::kAttention;
  fused.type = "Attention";
  fused.name = values.name;
  fused.macs = scores.macs + values.macs;
  fused.steps = values.steps;
  fused.outputs = values.outputs;
  const TensorId q = Unscaled(rewriter, scores.inputs[0], found.parts);
  const TensorId scaled_k = Unscaled(rewriter, scores.inputs[1], found.parts);
  const TensorId turned_k = Untransposed(rewriter, scaled_k, found.parts);
  // Scaled before it was transposed: the other order of the two.
  const TensorId k = Unscaled(rewriter, turned_k, found.parts);
  fused.inputs = {q, k, values.inputs[1]};
  fused.inputs.insert(fused.inputs.end(), found.masks.begin(), found.masks.end());
  found.parts.push_back(found.scores);
  rewriter.Replace(found.parts, found.values, std::move(fused));
  return true;
}

}  // namespace sharewell::graph::fuse
