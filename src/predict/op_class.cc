#include "predict/op_class.h"

#include <algorithm>

namespace sharewell::predict {

using graph::Kind;

double Contraction(const graph::Graph& graph, const graph::Op& op) {
  if (op.outputs.empty() || op.outputs[0] == graph::kAbsent) return 0;
  const double out = Elements(graph.tensors[static_cast<std::size_t>(op.outputs[0])]);
  return out > 0 ? op.macs / out : 0;
}

OpClass ClassOf(const graph::Graph& graph, const graph::Op& op) {
  switch (op.kind) {
    case Kind::kConv:
    case Kind::kDeconv: {
      const double channels =
          Contraction(graph, op) / static_cast<double>(std::max<std::int64_t>(1, op.kernel));
      if (op.groups >= 8 && channels <= 1.5) return OpClass::kDepthwise;
      if (op.groups > 1) return OpClass::kGrouped;
      if (channels <= 4) return OpClass::kStem;
      return op.kernel > 1 ? OpClass::kConv : OpClass::kPointwise;
    }
    case Kind::kMatMul:
      return OpClass::kMatMul;
    case Kind::kAttention:
      return OpClass::kAttention;
    case Kind::kRecurrent:
      return OpClass::kRecurrent;
    case Kind::kNorm:
      return OpClass::kNorm;
    case Kind::kSoftmax:
      return OpClass::kSoftmax;
    case Kind::kActivation:
    case Kind::kDropout:
      return OpClass::kActivation;
    case Kind::kElementwise:
    case Kind::kReduction:
      return OpClass::kElementwise;
    case Kind::kPool:
      return OpClass::kPool;
    case Kind::kEmbedding:
      return OpClass::kEmbedding;
    case Kind::kMove:
    case Kind::kResample:
      return OpClass::kMove;
    case Kind::kUnknown:
      // A told operator's bytes are known, whatever it is.
      return op.told ? OpClass::kElementwise : OpClass::kNone;
    case Kind::kView:
    case Kind::kHost:
      break;
  }
  return OpClass::kNone;
}

}  // namespace sharewell::predict
