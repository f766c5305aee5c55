#include "graph/onnx/operators/make.h"

#include <algorithm>
#include <cmath>

#include "graph/onnx/operators/layout.h"

namespace sharewell::graph::onnx {

void ShapeShape(Node& node) {
  node.SetType(0, DType::kInt64);
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  const auto rank = static_cast<std::int64_t>(x->size());
  const auto bounded = [&](std::int64_t place) {
    if (place < 0) place = place < -rank ? 0 : place + rank;
    return std::min(place, rank);
  };
  const std::int64_t start = bounded(node.Int("start", 0));
  const std::int64_t end = bounded(node.Int("end", rank));
  node.Set(0, {std::max<std::int64_t>(end - start, 0)}, DType::kInt64);
  if (start < end) node.Know(0, Dims(x->begin() + start, x->begin() + end));
}

void SizeShape(Node& node) {
  node.Set(0, {}, DType::kInt64);
  if (const Dims* x = node.Shape(0)) node.Know(0, Dims{ProductOf(*x)});
}

void ConstantShape(Node& node) {
  if (const auto value = node.Get("value"); value && !value->tensor.empty()) {
    const wire::TensorData tensor = wire::ReadTensor(value->tensor);
    node.Set(0, tensor.dims, TypeOf(tensor.element_type));
    if (auto numbers = NumbersOf(tensor)) node.Know(0, *std::move(numbers));
    return;
  }
  if (const auto one = node.Get("value_int")) {
    node.Set(0, {}, DType::kInt64);
    if (one->integer) node.Know(0, Dims{*one->integer});
  } else if (const auto real = node.Get("value_float")) {
    node.Set(0, {}, DType::kFloat);
    if (real->real) node.Know(0, std::vector<double>{static_cast<double>(*real->real)});
  } else if (auto many = node.Get("value_ints")) {
    node.Set(0, {static_cast<std::int64_t>(many->integers.size())}, DType::kInt64);
    node.Know(0, std::move(many->integers));
  } else if (const auto reals = node.Get("value_floats")) {
    node.Set(0, {static_cast<std::int64_t>(reals->reals.size())}, DType::kFloat);
    node.Know(0, std::vector<double>(reals->reals.begin(), reals->reals.end()));
  }
}

void ConstantOfShapeShape(Node& node) {
  DType type = DType::kFloat;
  Numbers value = std::vector<double>{0};
  if (const auto attribute = node.Get("value"); attribute && !attribute->tensor.empty()) {
    const wire::TensorData tensor = wire::ReadTensor(attribute->tensor);
    type = TypeOf(tensor.element_type);
    if (auto numbers = NumbersOf(tensor)) value = *std::move(numbers);
  }
  node.SetType(0, type);
  auto dims = node.KnownInts(0);
  if (!dims) return;
  const auto count = CountWithin(*dims, wire::kMostNumbers);
  node.Set(0, *std::move(dims), type);
  if (count && CountOf(value) == 1) {
    node.Know(0, Picked(value, std::vector<std::size_t>(*count, 0)));
  }
}

void RangeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Numbers* start = node.Known(0);
  const Numbers* limit = node.Known(1);
  const Numbers* delta = node.Known(2);
  if (start == nullptr || limit == nullptr || delta == nullptr || CountOf(*start) != 1 ||
      CountOf(*limit) != 1 || CountOf(*delta) != 1) {
    return;
  }
  const double from = Reals(*start)[0];
  const double by = Reals(*delta)[0];
  const double count = std::max(0.0, std::ceil((Reals(*limit)[0] - from) / by));
  if (by == 0 || !(count <= 1e12)) return;
  node.Set(0, {static_cast<std::int64_t>(count)});
  if (count > wire::kMostNumbers) return;
  std::vector<double> reals;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    reals.push_back(from + by * static_cast<double>(i));
  }
  if (IsReal(*start)) return node.Know(0, std::move(reals));
  node.Know(0, Integers(Numbers(std::move(reals))));
}

void NonZeroShape(Node& node) {
  node.SetType(0, DType::kInt64);
  const Dims* x = node.Shape(0);
  const Numbers* known = node.Known(0);
  if (x == nullptr || known == nullptr) return;
  const std::vector<double> reals = Reals(*known);
  const std::size_t rank = std::max<std::size_t>(x->size(), 1);
  std::vector<Dims> places(rank);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    if (reals[i] == 0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::int64_t size = x->empty() ? 1 : (*x)[axis];
      places[axis].push_back(rest % size);
      rest /= size;
    }
  }
  Dims all;
  for (const Dims& along : places) all.insert(all.end(), along.begin(), along.end());
  node.Set(0, {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(places[0].size())},
           DType::kInt64);
  node.Know(0, std::move(all));
}

void RandomShape(Node& node) {
  const int type = static_cast<int>(node.Int("dtype", 1));
  if (auto dims = node.Ints("shape")) node.Set(0, *std::move(dims), TypeOf(type));
}

void RandomLikeShape(Node& node) {
  const int type = static_cast<int>(node.Int("dtype", 0));
  const DType dtype = type == 0 ? node.Type(0) : TypeOf(type);
  node.SetType(0, dtype);
  if (const Dims* x = node.Shape(0)) node.Set(0, *x, dtype);
}

void MultinomialShape(Node& node) {
  node.SetType(0, DType::kInt32);
  const Dims* x = node.Shape(0);
  if (x != nullptr && x->size() == 2) {
    node.Set(0, {(*x)[0], node.Int("sample_size", 1)}, DType::kInt32);
  }
}

void WindowFunctionShape(Node& node) {
  const DType type = TypeOf(static_cast<int>(node.Int("output_datatype", 1)));
  node.SetType(0, type);
  const auto size = node.KnownInts(0);
  if (size && size->size() == 1) node.Set(0, *size, type);
}

}  // namespace sharewell::graph::onnx
