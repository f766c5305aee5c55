// Layers that rearrange, join and combine.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/layers/layer.h"

namespace sharewell::graph::layers {
namespace {

// The product of dimensions; beyond what a dimension may be it stays there, which Fits refuses.
std::int64_t ProductOf(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product) || product > kLargestDim) {
      return kLargestDim + 1;
    }
  }
  return product;
}

// A dimension by number; negative ones count from the end.
std::size_t DimensionOf(Layer& layer, std::string_view key, std::int64_t fallback) {
  const auto rank = static_cast<std::int64_t>(layer.in().size());
  if (rank == 0) {
    layer.keys.Fail("needs an input of at least one dimension, but gets []");
    return 0;
  }
  const std::int64_t dim = layer.keys.WholeOr(
      key, std::clamp<std::int64_t>(fallback, -rank, rank - 1), {-rank, rank - 1});
  // What stands there after an error may lie outside.
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(dim < 0 ? dim + rank : dim, 0, rank - 1));
}

bool Broadcasts(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t a = from[from.size() - 1 - i];
    if (a != 1 && a != to[to.size() - 1 - i]) return false;
  }
  return true;
}

}  // namespace

TensorId BuildFlatten(Layer& layer) {
  const std::size_t start = DimensionOf(layer, "start", 1);
  if (!layer.keys.ok()) return layer.x;
  Dims out(layer.in().begin(), layer.in().begin() + static_cast<std::ptrdiff_t>(start));
  out.push_back(ProductOf(std::span(layer.in()).subspan(start)));
  if (!layer.Fits(out)) return layer.x;
  return layer.builder.Apply(Kind::kView, "Flatten", {layer.x}, out, layer.name);
}

TensorId BuildReshape(Layer& layer) {
  const json::Value shape = layer.keys.Member("shape");
  if (!shape.is_list() || shape.empty() || shape.size() > kMostDims) {
    layer.keys.Fail("shape", "must be a list of sizes; one may be -1, for what is left");
    return layer.x;
  }
  Dims out = Wholes(layer.keys, "shape", {-1, kLargestDim}, shape.size());
  if (!layer.keys.ok()) return layer.x;
  const std::int64_t all = ProductOf(layer.in());
  const auto open = std::find(out.begin(), out.end(), -1);
  if (open != out.end()) {
    *open = 1;
    const std::int64_t rest = ProductOf(out);
    *open = rest > 0 && all % rest == 0 ? all / rest : -1;
  }
  if (std::count_if(out.begin(), out.end(), [](std::int64_t dim) { return dim < 1; }) > 0 ||
      ProductOf(out) != all || all > kLargestDim) {
    layer.keys.Fail(
        "shape", fmt::format("must hold as many elements as {}, the input", DimsText(layer.in())));
    return layer.x;
  }
  return layer.builder.Apply(Kind::kView, "Reshape", {layer.x}, out, layer.name);
}

TensorId BuildPermute(Layer& layer) {
  const std::size_t rank = layer.in().size();
  if (!layer.keys.Member("order").is_list()) {
    layer.keys.Fail("order", "must be a list of dimensions, like [0, 2, 1]");
    return layer.x;
  }
  const Dims dims = Wholes(layer.keys, "order", {0, static_cast<std::int64_t>(rank) - 1}, rank);
  if (!layer.keys.ok()) return layer.x;
  Dims out, sorted = dims, each(rank);
  std::sort(sorted.begin(), sorted.end());
  std::iota(each.begin(), each.end(), 0);
  if (sorted != each) {
    layer.keys.Fail("order", fmt::format("must name each of the {} dimensions once", rank));
    return layer.x;
  }
  for (const std::int64_t dim : dims) out.push_back(layer.in()[static_cast<std::size_t>(dim)]);
  return layer.builder.Apply(Kind::kView, "Permute", {layer.x}, out, layer.name);
}

TensorId BuildSelect(Layer& layer) {
  const std::size_t dim = DimensionOf(layer, "dim", 1);
  if (!layer.keys.ok()) return layer.x;
  Dims out = layer.in();
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(dim));
  return layer.builder.Apply(Kind::kView, "Select", {layer.x}, out, layer.name);
}

TensorId BuildMean(Layer& layer) {
  const auto rank = static_cast<std::int64_t>(layer.in().size());
  const json::Value dims = layer.keys.Member("dims");
  const std::size_t count = dims.is_list() ? dims.size() : 1;
  if (count > layer.in().size()) {
    layer.keys.Fail("dims", fmt::format("names {} dimensions; the input has {}", count, rank));
    return layer.x;
  }
  const Dims over =
      Wholes(layer.keys, "dims", {0, rank - 1}, count, std::min<std::int64_t>(1, rank - 1));
  if (!layer.keys.ok()) return layer.x;
  Dims out;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (std::find(over.begin(), over.end(), i) == over.end()) {
      out.push_back(layer.in()[static_cast<std::size_t>(i)]);
    }
  }
  return layer.builder.Apply(Kind::kReduction, "Mean", {layer.x}, out, layer.name);
}

TensorId BuildConcat(Layer& layer) {
  const std::size_t dim = DimensionOf(layer, "dim", 1);
  if (layer.with.empty()) layer.keys.Fail("with", "is missing; name the layer or layers to join");
  if (!layer.keys.ok()) return layer.x;
  Dims out = layer.in();
  for (const TensorId id : layer.with) {
    Dims part = layer.builder.dims(id);
    if (part.size() == out.size()) {
      out[dim] = std::min(kLargestDim + 1, out[dim] + part[dim]);
      part[dim] = out[dim];
    }
    if (part != out) {
      layer.keys.Fail("with",
                      fmt::format("names a layer of {}, which does not fit {} but for dimension {}",
                                  DimsText(layer.builder.dims(id)), DimsText(layer.in()), dim));
      return layer.x;
    }
  }
  if (!layer.Fits(out)) return layer.x;
  std::vector<TensorId> inputs = {layer.x};
  inputs.insert(inputs.end(), layer.with.begin(), layer.with.end());
  return layer.builder.Apply(Kind::kMove, "Concat", std::move(inputs), out, layer.name);
}

TensorId BuildPointwise(Layer& layer) {
  if (layer.with.empty()) {
    layer.keys.Fail("with", "is missing; name the other layer or layers");
    return layer.x;
  }
  Dims out = layer.in();
  for (const TensorId id : layer.with) {
    const Dims& other = layer.builder.dims(id);
    if (Broadcasts(other, out)) continue;
    if (!Broadcasts(out, other)) {
      layer.keys.Fail("with", fmt::format("names a layer of {}, which does not fit {}",
                                          DimsText(other), DimsText(out)));
      return layer.x;
    }
    out = other;
  }
  std::vector<TensorId> inputs = {layer.x};
  inputs.insert(inputs.end(), layer.with.begin(), layer.with.end());
  return layer.builder.Apply(Kind::kElementwise, layer.type == "add" ? "Add" : "Mul",
                             std::move(inputs), out, layer.name);
}

}  // namespace sharewell::graph::layers
