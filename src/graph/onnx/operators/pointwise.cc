#include "graph/onnx/operators/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharewell::graph::onnx {

std::optional<Dims> Stretched(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims both = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = both[i + shift];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) return std::nullopt;
    dim = shorter[i];
  }
  return both;
}

void SameShape(Node& node) {
  if (const Dims* dims = node.Shape(0)) return node.Set(0, *dims);
  node.SetType(0, node.Type(0));
}

void SameShapeAsBool(Node& node) {
  if (const Dims* dims = node.Shape(0)) return node.Set(0, *dims, DType::kByte);
  node.SetType(0, DType::kByte);
}

namespace {

void Stretch(Node& node, DType type) {
  node.SetType(0, type);
  std::optional<Dims> dims;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Dims* shape = node.Shape(i);
    if (shape == nullptr) return;
    if (dims) {
      auto both = Stretched(*dims, *shape);
      if (!both) {
        return node.Clash(
            fmt::format("its operands {} and {} do not fit", TextOf(*dims), TextOf(*shape)));
      }
      dims = std::move(both);
    } else {
      dims = *shape;
    }
  }
  if (dims) node.Set(0, *std::move(dims), type);
}

}  // namespace

void StretchedShape(Node& node) { Stretch(node, node.Type(0)); }
void StretchedAsBool(Node& node) { Stretch(node, DType::kByte); }
void WhereShape(Node& node) { Stretch(node, node.Type(1)); }

void CastShape(Node& node) {
  const DType type =
      node.type() == "CastLike" ? node.Type(1) : TypeOf(static_cast<int>(node.Int("to", 0)));
  if (const Dims* dims = node.Shape(0)) return node.Set(0, *dims, type);
  node.SetType(0, type);
}

void DropoutShape(Node& node) {
  SameShape(node);
  if (const Dims* dims = node.Shape(0)) node.Set(1, *dims, DType::kByte);
}

void NormShape(Node& node) {
  SameShape(node);
  const Dims* dims = node.Shape(0);
  if (dims == nullptr || node.outputs.size() < 2) return;
  if (node.type() == "BatchNormalization") {
    for (std::size_t i = 1; i < node.outputs.size() && dims->size() >= 2; ++i) {
      node.Set(i, {(*dims)[1]});
    }
    return;
  }
  // LayerNormalization: mean and inverse deviation of what is normalised over.
  const auto axis = FromFront(node.Int("axis", -1), dims->size());
  if (!axis) return;
  Dims kept = *dims;
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(*axis), kept.end(), 1);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) node.Set(i, kept, DType::kFloat);
}

void SkipNormShape(Node& node) {
  const Dims* dims = node.Shape(0);
  if (dims == nullptr) return;
  node.Set(0, *dims);
  node.Set(3, *dims);
}

void QuantizeShape(Node& node) {
  if (const Dims* dims = node.Shape(0)) return node.Set(0, *dims, DType::kByte);
  node.SetType(0, DType::kByte);
}

void DequantizeShape(Node& node) {
  const DType type = IsFloat(node.Type(1)) ? node.Type(1) : DType::kFloat;
  if (const Dims* dims = node.Shape(0)) return node.Set(0, *dims, type);
  node.SetType(0, type);
}

void DynamicQuantizeShape(Node& node) {
  QuantizeShape(node);
  node.Set(1, {}, DType::kFloat);
  node.Set(2, {}, DType::kByte);
}

namespace {

// `dims` with the axes gone, or kept as ones.
std::optional<Dims> Reduced(const Dims& dims, const Dims& axes, bool keep) {
  std::vector<bool> gone(dims.size(), false);
  for (const std::int64_t axis : axes) {
    const auto at = FromFront(axis, dims.size());
    if (!at) return std::nullopt;
    gone[*at] = true;
  }
  Dims left;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!gone[i]) {
      left.push_back(dims[i]);
    } else if (keep) {
      left.push_back(1);
    }
  }
  return left;
}

}  // namespace

void ReduceShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* dims = node.Shape(0);
  if (dims == nullptr) return;
  auto axes = node.IntsAt(1, "axes");
  if (!axes && node.HasInput(1)) return;  // computed at run time
  if (!axes || axes->empty()) {
    if (node.Int("noop_with_empty_axes", 0) != 0) return node.Set(0, *dims);
    axes.emplace();
    for (std::size_t i = 0; i < dims->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  auto left = Reduced(*dims, *axes, node.Int("keepdims", 1) != 0);
  if (!left) return node.Clash(fmt::format("it reduces an axis that {} has not", TextOf(*dims)));
  node.Set(0, *std::move(left));
}

void ArgReduceShape(Node& node) {
  node.SetType(0, DType::kInt64);
  const Dims* dims = node.Shape(0);
  if (dims == nullptr) return;
  auto left = Reduced(*dims, {node.Int("axis", 0)}, node.Int("keepdims", 1) != 0);
  if (left) node.Set(0, *std::move(left), DType::kInt64);
}

void LossShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* scores = node.Shape(0);
  const Dims* targets = node.Shape(1);
  if (scores != nullptr) node.Set(1, *scores);
  if (node.Text("reduction", "mean") != "none") return node.Set(0, {});
  if (targets != nullptr) node.Set(0, *targets);
}

}  // namespace sharewell::graph::onnx
