#include <algorithm>
#include <string>
#include <utility>

#include "graph/fuse/patterns.h"

namespace sharewell::graph::fuse {
namespace {

// Makes `id` and has the type asked for, and `id` is read nowhere else.
OpIndex PrivateMaker(const Rewriter& rewriter, TensorId id, std::string_view type) {
  const OpIndex maker = rewriter.Maker(id);
  if (maker == kNoOp || rewriter.OnlyReader(id) == kNoOp) return kNoOp;
  return rewriter.At(maker).type == type && !rewriter.At(maker).inputs.empty() ? maker : kNoOp;
}

// One dimension larger than one: a scale or shift for each channel.
bool IsVector(const Rewriter& rewriter, TensorId id) {
  if (!rewriter.IsWeight(id) || !rewriter.Of(id).dims) return false;
  const Dims& dims = *rewriter.Of(id).dims;
  return std::count_if(dims.begin(), dims.end(), [](std::int64_t dim) { return dim > 1; }) == 1;
}

// `op` and, behind it, a product with a vector and a sum with one, as far as they are there.
struct Tail {
  OpIndex last = kNoOp;
  TensorId scale = kAbsent, bias = kAbsent;
};
Tail TailOf(const Rewriter& rewriter, OpIndex op, std::vector<OpIndex>& parts) {
  Tail tail{op};
  std::vector<OpIndex> casts;
  TensorId id = rewriter.At(op).outputs[0];
  for (int left = 4; left > 0; --left) {
    const OpIndex next = rewriter.OnlyReader(id);
    if (next == kNoOp || rewriter.At(next).outputs.size() != 1) break;
    const Op& reader = rewriter.At(next);
    if (reader.type == "Cast") {
      casts.push_back(next);
      id = reader.outputs[0];
      continue;
    }
    const TensorId other = rewriter.Other(next, id);
    if (other == kAbsent || !IsVector(rewriter, other)) break;
    if (reader.type == "Mul" && tail.scale == kAbsent && tail.bias == kAbsent) {
      tail.scale = other;
    } else if (reader.type == "Add" && tail.bias == kAbsent) {
      tail.bias = other;
    } else {
      break;
    }
    parts.insert(parts.end(), casts.begin(), casts.end());
    casts.clear();
    parts.push_back(next);
    tail.last = next;
    id = reader.outputs[0];
  }
  return tail;
}

Op Fused(const Rewriter& rewriter, std::string type, TensorId x, const Tail& tail) {
  Op fused;
  fused.kind = Kind::kNorm;
  fused.type = std::move(type);
  fused.name = rewriter.At(tail.last).name;
  fused.steps = rewriter.At(tail.last).steps;
  fused.outputs = rewriter.At(tail.last).outputs;
  fused.inputs = {x};
  if (tail.scale != kAbsent || tail.bias != kAbsent) fused.inputs.push_back(tail.scale);
  if (tail.bias != kAbsent) fused.inputs.push_back(tail.bias);
  return fused;
}

bool ReadOnlyBy(const Rewriter& rewriter, TensorId id, const std::vector<OpIndex>& parts) {
  const auto& readers = rewriter.Readers(id);
  return !rewriter.IsOutput(id) && std::all_of(readers.begin(), readers.end(), [&](OpIndex op) {
    return std::find(parts.begin(), parts.end(), op) != parts.end();
  });
}

// Sub(x, ReduceMean(x)): x less its mean. Adds both to `parts`; kAbsent when it is no such thing.
TensorId Centred(const Rewriter& rewriter, TensorId id, std::vector<OpIndex>& parts) {
  const OpIndex sub = rewriter.Maker(id);
  if (sub == kNoOp || rewriter.At(sub).type != "Sub" || rewriter.At(sub).inputs.size() != 2) {
    return kAbsent;
  }
  const TensorId x = rewriter.At(sub).inputs[0];
  const OpIndex mean = rewriter.Maker(rewriter.At(sub).inputs[1]);
  if (mean == kNoOp || rewriter.At(mean).type != "ReduceMean" || rewriter.At(mean).inputs[0] != x) {
    return kAbsent;
  }
  parts.push_back(sub);
  parts.push_back(mean);
  return x;
}

// What it is a view of.
TensorId Viewed(const Rewriter& rewriter, TensorId id) {
  while (true) {
    const OpIndex maker = rewriter.Maker(id);
    if (maker == kNoOp || rewriter.At(maker).kind != Kind::kView) return id;
    if (rewriter.At(maker).inputs.empty()) return id;
    id = rewriter.At(maker).inputs[0];
  }
}

}  // namespace

bool FuseNorm(Rewriter& rewriter, OpIndex at) {
  const Op& root = rewriter.At(at);
  if ((root.type != "Sqrt" && root.type != "Pow") || root.inputs.empty()) return false;
  std::vector<OpIndex> parts = {at};
  // Back: epsilon, the mean, the square.
  const OpIndex add = PrivateMaker(rewriter, root.inputs[0], "Add");
  if (add == kNoOp || rewriter.At(add).inputs.size() != 2) return false;
  const std::size_t epsilon = rewriter.IsNumber(rewriter.At(add).inputs[1]) ? 1 : 0;
  if (!rewriter.IsNumber(rewriter.At(add).inputs[epsilon])) return false;
  const OpIndex mean = PrivateMaker(rewriter, rewriter.At(add).inputs[1 - epsilon], "ReduceMean");
  if (mean == kNoOp) return false;
  const TensorId squared = rewriter.At(mean).inputs[0];
  OpIndex square = PrivateMaker(rewriter, squared, "Pow");
  if (square == kNoOp) {
    square = PrivateMaker(rewriter, squared, "Mul");
    if (square == kNoOp || rewriter.At(square).inputs.size() != 2 ||
        rewriter.At(square).inputs[0] != rewriter.At(square).inputs[1]) {
      return false;
    }
  }
  parts.insert(parts.end(), {add, mean, square});
  const TensorId d = rewriter.At(square).inputs[0];
  if (d == kAbsent) return false;

  // On: divided by the root, or multiplied by its reciprocal.
  TensorId id = root.outputs[0];
  OpIndex next = rewriter.OnlyReader(id);
  if (next == kNoOp) return false;
  TensorId numerator = kAbsent;
  const auto inverts = [&](const Op& op) {
    return op.type == "Reciprocal" || (op.type == "Div" && op.inputs.size() == 2 &&
                                       op.inputs[1] == id && rewriter.IsNumber(op.inputs[0]));
  };
  if (inverts(rewriter.At(next))) {
    parts.push_back(next);
    id = rewriter.At(next).outputs[0];
    next = rewriter.OnlyReader(id);
    if (next == kNoOp || rewriter.At(next).type != "Mul") return false;
    numerator = rewriter.Other(next, id);
  } else if (rewriter.At(next).type == "Div" && rewriter.At(next).inputs.size() == 2 &&
             rewriter.At(next).inputs[1] == id) {
    numerator = rewriter.At(next).inputs[0];
  } else if (rewriter.At(next).type == "Mul" && root.type == "Pow") {  // to the power of -1/2
    numerator = rewriter.Other(next, id);
  }
  if (numerator == kAbsent) return false;
  parts.push_back(next);

  const TensorId centred = Centred(rewriter, d, parts);
  TensorId x = centred == kAbsent ? d : centred;
  if (centred != kAbsent) {
    if (numerator != d && Centred(rewriter, numerator, parts) != x) return false;
    for (const TensorId inner : {d, numerator, rewriter.At(rewriter.Maker(d)).inputs[1]}) {
      if (!ReadOnlyBy(rewriter, inner, parts)) return false;
    }
  } else if (numerator != d) {
    return false;
  }
  const Tail tail = TailOf(rewriter, next, parts);
  if (rewriter.RanApart(rewriter.At(tail.last).outputs[0])) return false;
  // Half-precision models normalise in single precision: the cast before it belongs to it.
  if (centred == kAbsent && ReadOnlyBy(rewriter, x, parts)) {
    const OpIndex cast = rewriter.Maker(x);
    if (cast != kNoOp && rewriter.At(cast).type == "Cast") {
      parts.push_back(cast);
      x = rewriter.At(cast).inputs[0];
    }
  }
  const std::string type = centred == kAbsent ? "RMSNormalization" : "LayerNormalization";
  rewriter.Replace(parts, tail.last, Fused(rewriter, type, x, tail));
  return true;
}

bool FuseStatistics(Rewriter& rewriter, OpIndex at) {
  const Op& norm = rewriter.At(at);
  if (norm.type != "BatchNormalization" || norm.inputs.size() != 5 || norm.outputs.size() != 1) {
    return false;
  }
  const auto averaged = [&](TensorId id) {
    const OpIndex maker = rewriter.Maker(id);
    const bool mean = maker != kNoOp && rewriter.At(maker).type == "ReduceMean";
    return mean ? rewriter.At(maker).inputs[0] : kAbsent;
  };
  const TensorId mean_of = averaged(norm.inputs[3]), variance_of = averaged(norm.inputs[4]);
  if (mean_of == kAbsent || variance_of == kAbsent ||
      Viewed(rewriter, mean_of) != Viewed(rewriter, norm.inputs[0])) {
    return false;
  }
  const OpIndex square = rewriter.Maker(variance_of);
  if (square == kNoOp || rewriter.At(square).kind != Kind::kElementwise) return false;
  Op fused = norm;
  fused.inputs.resize(3);
  const OpIndex parts[] = {at};
  rewriter.Replace(parts, at, std::move(fused));
  return true;
}

bool FuseScaledNorm(Rewriter& rewriter, OpIndex at) {
  const Op& norm = rewriter.At(at);
  if (norm.type != "InstanceNormalization" || norm.outputs.size() != 1 || norm.inputs.empty()) {
    return false;
  }
  std::vector<OpIndex> parts = {at};
  OpIndex from = at;
  // Groups are made channels by a reshape, and channels again behind.
  const OpIndex view = rewriter.OnlyReader(norm.outputs[0]);
  if (view != kNoOp && rewriter.At(view).kind == Kind::kView &&
      rewriter.At(view).outputs.size() == 1) {
    from = view;
    parts.push_back(view);
  }
  const TensorId x = norm.inputs[0];
  const Tail tail = TailOf(rewriter, from, parts);
  if (tail.scale == kAbsent) return false;
  rewriter.Replace(parts, tail.last, Fused(rewriter, "GroupNormalization", x, tail));
  return true;
}

bool FuseBias(Rewriter& rewriter, OpIndex at) {
  const Op& product = rewriter.At(at);
  if (product.kind != Kind::kMatMul || product.inputs.size() != 2 || product.outputs.size() != 1 ||
      !rewriter.IsWeight(product.inputs[1])) {
    return false;
  }
  const OpIndex add = rewriter.OnlyReader(product.outputs[0]);
  if (add == kNoOp || rewriter.At(add).type != "Add" || rewriter.At(add).outputs.size() != 1) {
    return false;
  }
  const TensorId bias = rewriter.Other(add, product.outputs[0]);
  const auto& out = rewriter.Of(product.outputs[0]).dims;
  if (!rewriter.IsWeight(bias) || !rewriter.Of(bias).dims || !out || out->empty() ||
      rewriter.Of(bias).dims->empty() || rewriter.Of(bias).dims->back() != out->back() ||
      Elements(rewriter.Of(bias)) != static_cast<double>(out->back())) {
    return false;
  }
  Op fused = product;
  fused.name = rewriter.At(add).name;
  fused.inputs.push_back(bias);
  fused.outputs = rewriter.At(add).outputs;
  const OpIndex parts[] = {at};
  rewriter.Replace(parts, add, std::move(fused));
  return true;
}

}  // namespace sharewell::graph::fuse
