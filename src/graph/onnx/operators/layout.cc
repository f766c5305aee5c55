#include "graph/onnx/operators/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/onnx/operators/pointwise.h"

namespace sharewell::graph::onnx {
namespace {

std::ptrdiff_t Signed(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

}  // namespace

std::int64_t ProductOf(const Dims& dims, std::size_t from, std::size_t to) {
  std::int64_t product = 1;
  for (std::size_t i = from; i < std::min(to, dims.size()); ++i) {
    if (dims[i] != 0 && product > std::numeric_limits<std::int64_t>::max() / 2 / dims[i]) {
      return std::numeric_limits<std::int64_t>::max() / 2;
    }
    product *= dims[i];
  }
  return product;
}

void ReshapeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  auto target = node.IntsAt(1, "shape");
  if (!target) return;
  const bool zero_means_zero = node.Int("allowzero", 0) != 0;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target->size(); ++i) {
    std::int64_t& dim = (*target)[i];
    if (dim == 0 && !zero_means_zero) {
      if (x == nullptr) return;
      if (i >= x->size()) return node.Clash("its target keeps a dimension that is not there");
      dim = (*x)[i];
    } else if (dim == -1) {
      if (open) return node.Clash("its target leaves two dimensions open");
      open = i;
      dim = 1;
    } else if (dim < 0 || dim > kLargestDim) {
      return node.Clash("its target has an impossible dimension");
    }
  }
  if (x == nullptr && open) return;
  if (x != nullptr) {
    const std::int64_t have = ProductOf(*x);
    const std::int64_t want = ProductOf(*target);
    if (open && want > 0 && have % want == 0) {
      (*target)[*open] = have / want;
    } else if (open || have != want) {
      return node.Clash(fmt::format("it makes {} of {}", TextOf(*target), TextOf(*x)));
    }
  }
  node.Set(0, *std::move(target));
}

void FlattenShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  const std::int64_t axis = node.Int("axis", 1);
  const auto rank = static_cast<std::int64_t>(x->size());
  if (axis < -rank || axis > rank) return node.Clash("its axis is out of range");
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  node.Set(0, {ProductOf(*x, 0, at), ProductOf(*x, at)});
}

void SqueezeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  const auto axes = node.IntsAt(1, "axes");
  if (!axes && node.HasInput(1)) return;
  std::vector<bool> gone(x->size(), false);
  if (!axes) {
    for (std::size_t i = 0; i < x->size(); ++i) gone[i] = (*x)[i] == 1;
  } else {
    for (const std::int64_t axis : *axes) {
      const auto at = FromFront(axis, x->size());
      if (!at || (*x)[*at] != 1) {
        return node.Clash(fmt::format("it squeezes axis {} of {}", axis, TextOf(*x)));
      }
      gone[*at] = true;
    }
  }
  Dims out;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!gone[i]) out.push_back((*x)[i]);
  }
  node.Set(0, std::move(out));
}

void UnsqueezeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto axes = node.IntsAt(1, "axes");
  if (x == nullptr || !axes || axes->size() > kMostDims) return;
  const std::size_t rank = x->size() + axes->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : *axes) {
    const auto at = FromFront(axis, rank);
    if (!at || added[*at]) return node.Clash("it adds an axis out of range, or twice");
    added[*at] = true;
  }
  Dims out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(added[i] ? 1 : (*x)[next++]);
  node.Set(0, std::move(out));
}

void TransposeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  const auto perm = node.Ints("perm");
  Dims out;
  if (!perm || perm->empty()) {
    out.assign(x->rbegin(), x->rend());
  } else {
    std::vector<bool> taken(x->size(), false);
    for (const std::int64_t axis : *perm) {
      const auto at = FromFront(axis, x->size());
      if (!at || taken[*at] || perm->size() != x->size()) {
        return node.Clash(fmt::format("it permutes {} by what is no permutation", TextOf(*x)));
      }
      taken[*at] = true;
      out.push_back((*x)[*at]);
    }
  }
  node.Set(0, std::move(out));
}

void ConcatShape(Node& node) {
  // QLinearConcat: scale and zero point of the result, then tensor, scale, zero point of each part.
  const bool quantized = node.type() == "QLinearConcat";
  const std::size_t first = quantized ? 2 : 0;
  const std::size_t stride = quantized ? 3 : 1;
  node.SetType(0, node.Type(first));
  std::optional<Dims> out;
  std::optional<std::size_t> axis;
  for (std::size_t i = first; i < node.inputs.size(); i += stride) {
    const Dims* part = node.Shape(i);
    if (part == nullptr) return;
    if (!out) {
      out = *part;
      axis = FromFront(node.Int("axis", 1), out->size());
      if (!axis) return node.Clash(fmt::format("it joins {} along no axis of it", TextOf(*part)));
      continue;
    }
    bool fits = part->size() == out->size();
    for (std::size_t d = 0; fits && d < out->size(); ++d) {
      fits = d == *axis || (*part)[d] == (*out)[d];
    }
    if (!fits) return node.Clash(fmt::format("it joins {} and {}", TextOf(*out), TextOf(*part)));
    (*out)[*axis] = std::min((*out)[*axis] + (*part)[*axis], kLargestDim + 1);
  }
  if (out) node.Set(0, *std::move(out), node.Type(first));
}

std::optional<Dims> PartsOf(const Node& node) {
  const Dims* x = node.Shape(0);
  if (x == nullptr) return std::nullopt;
  const auto axis = FromFront(node.Int("axis", 0), x->size());
  if (!axis) return std::nullopt;
  const std::int64_t whole = (*x)[*axis];
  auto parts = node.IntsAt(1, "split");
  if (!parts && node.HasInput(1)) return std::nullopt;
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  if (!parts || parts->empty()) {
    if (count == 0) return std::nullopt;
    const std::int64_t size = (whole + count - 1) / count;  // the last one may be smaller
    parts = Dims();
    for (std::int64_t i = 0; i < count; ++i) {
      parts->push_back(std::clamp<std::int64_t>(whole - i * size, 0, size));
    }
  }
  std::int64_t total = 0;
  for (const std::int64_t part : *parts) {
    if (part < 0 || part > whole) return std::nullopt;
    total += part;
  }
  if (total != whole || parts->size() < node.outputs.size()) return std::nullopt;
  return parts;
}

void SplitShape(Node& node) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) node.SetType(i, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  const auto axis = FromFront(node.Int("axis", 0), x->size());
  const auto parts = PartsOf(node);
  if (!axis || !parts) {
    // Sizes that are there but do not add up contradict the input; sizes unknown do not.
    if (!node.HasInput(1) || node.Known(1) != nullptr) {
      node.Clash(fmt::format("its parts do not add up to {}", TextOf(*x)));
    }
    return;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Dims out = *x;
    out[*axis] = (*parts)[i];
    node.Set(i, std::move(out));
  }
}

std::optional<std::vector<Cut>> CutsOf(const Node& node) {
  const Dims* x = node.Shape(0);
  if (x == nullptr) return std::nullopt;
  const auto starts = node.IntsAt(1, "starts");
  const auto ends = node.IntsAt(2, "ends");
  auto axes = node.IntsAt(3, "axes");
  auto steps = node.KnownInts(4);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if ((node.HasInput(3) && !axes) || (node.HasInput(4) && !steps)) return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (!steps) steps = Dims(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  std::vector<Cut> cuts(x->size());
  for (std::size_t i = 0; i < x->size(); ++i) cuts[i].count = (*x)[i];
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = FromFront((*axes)[i], x->size());
    const std::int64_t step = (*steps)[i];
    if (!axis || step == 0) return std::nullopt;
    const std::int64_t size = (*x)[*axis];
    // Beyond the ends means the end: INT64_MAX, or INT64_MIN walking back.
    const auto bounded = [&](std::int64_t place, std::int64_t least, std::int64_t most) {
      if (place < 0) place = place < -size ? -1 : place + size;
      return std::clamp(place, least, most);
    };
    const std::int64_t start =
        step > 0 ? bounded((*starts)[i], 0, size) : bounded((*starts)[i], -1, size - 1);
    const std::int64_t end =
        step > 0 ? bounded((*ends)[i], 0, size) : bounded((*ends)[i], -1, size - 1);
    Cut& cut = cuts[*axis];
    cut.start = start;
    cut.step = step;
    cut.count = 0;
    if (step > 0 && end > start) cut.count = (end - start - 1) / step + 1;
    if (step < 0 && start > end) {
      // -step of INT64_MIN does not exist; one element is left of such a stride either way.
      const std::int64_t stride = step < -kLargestDim ? kLargestDim : -step;
      cut.count = (start - end - 1) / stride + 1;
    }
  }
  return cuts;
}

bool CutsInPlace(const Node& node) {
  const auto cuts = CutsOf(node);
  return cuts &&
         std::all_of(cuts->begin(), cuts->end(), [](const Cut& cut) { return cut.step > 0; });
}

void SliceShape(Node& node) {
  node.SetType(0, node.Type(0));
  const auto cuts = CutsOf(node);
  if (!cuts) return;
  Dims out;
  for (const Cut& cut : *cuts) out.push_back(cut.count);
  node.Set(0, std::move(out));
}

void PadShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto pads = node.HasInput(1)   ? node.KnownInts(1)
                    : node.Has("pads") ? node.Ints("pads")
                                       : node.Ints("paddings");
  if (x == nullptr || !pads) return;
  std::vector<std::size_t> axes;
  if (node.HasInput(3)) {
    const auto given = node.KnownInts(3);
    if (!given) return;
    for (const std::int64_t axis : *given) {
      const auto at = FromFront(axis, x->size());
      if (!at) return node.Clash("it pads an axis that is not there");
      axes.push_back(*at);
    }
  } else {
    for (std::size_t i = 0; i < x->size(); ++i) axes.push_back(i);
  }
  if (pads->size() != 2 * axes.size()) return node.Clash("it has not two pads for each axis");
  Dims out = *x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = (*pads)[i];
    const std::int64_t after = (*pads)[i + axes.size()];
    if (std::min(before, after) < -kLargestDim || std::max(before, after) > kLargestDim) return;
    out[axes[i]] += before + after;
  }
  node.Set(0, std::move(out));
}

void TileShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto repeats = node.KnownInts(1);
  if (x == nullptr || !repeats || repeats->size() != x->size()) return;
  Dims out = *x;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t times = (*repeats)[i];
    if (times < 0 || (times > 0 && out[i] > kLargestDim / times)) return;
    out[i] *= times;
  }
  node.Set(0, std::move(out));
}

void ExpandShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto target = node.KnownInts(1);
  if (x == nullptr || !target) return;
  auto out = Stretched(*x, *target);
  if (!out) {
    return node.Clash(fmt::format("it stretches {} to {}", TextOf(*x), TextOf(*target)));
  }
  node.Set(0, *std::move(out));
}

void GatherShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* indices = node.Shape(1);
  if (x == nullptr || indices == nullptr) return;
  const auto axis = FromFront(node.Int("axis", 0), x->size());
  if (!axis) return node.Clash(fmt::format("it gathers along no axis of {}", TextOf(*x)));
  Dims out(x->begin(), x->begin() + Signed(*axis));
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), x->begin() + Signed(*axis) + 1, x->end());
  node.Set(0, std::move(out));
}

void GatherElementsShape(Node& node) {
  node.SetType(0, node.Type(0));
  if (const Dims* indices = node.Shape(1)) node.Set(0, *indices);
}

void GatherNdShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* indices = node.Shape(1);
  const std::int64_t batch = node.Int("batch_dims", 0);
  if (x == nullptr || indices == nullptr || indices->empty() || batch < 0) return;
  const auto rank = static_cast<std::int64_t>(x->size());
  if (batch > rank || indices->back() < 0 || indices->back() > rank - batch) {
    return node.Clash(fmt::format("it indexes {} by {}", TextOf(*x), TextOf(*indices)));
  }
  Dims out(indices->begin(), indices->end() - 1);
  out.insert(out.end(), x->begin() + batch + indices->back(), x->end());
  node.Set(0, std::move(out));
}

void OneHotShape(Node& node) {
  node.SetType(0, node.Type(2));
  const Dims* indices = node.Shape(0);
  const auto depth = node.KnownInts(1);
  if (indices == nullptr || !depth || depth->size() != 1) return;
  const auto axis = FromFront(node.Int("axis", -1), indices->size() + 1);
  if (!axis) return;
  Dims out = *indices;
  out.insert(out.begin() + Signed(*axis), depth->front());
  node.Set(0, std::move(out), node.Type(2));
}

void TopKShape(Node& node) {
  node.SetType(0, node.Type(0));
  node.SetType(1, DType::kInt64);
  const Dims* x = node.Shape(0);
  const auto known = node.KnownInts(1);
  if (x == nullptr || (node.HasInput(1) && (!known || known->size() != 1))) return;
  const std::int64_t k = known ? known->front() : node.Int("k", -1);
  const auto axis = FromFront(node.Int("axis", -1), x->size());
  if (!axis) return;
  Dims out = *x;
  out[*axis] = k;
  node.Set(0, out);
  node.Set(1, std::move(out), DType::kInt64);
}

// Complex values are pairs in the last dimension; a real operand has 1 there.
void FourierShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto length = node.KnownInts(1);
  const auto given = node.KnownInts(2);
  if (x == nullptr || x->empty() || (node.HasInput(1) && (!length || length->size() != 1))) return;
  if (node.HasInput(2) && (!given || given->size() != 1)) return;
  const std::int64_t along = node.HasInput(2)   ? given->front()
                             : node.Has("axis") ? node.Int("axis", 1)
                                                : -2;
  const auto axis = FromFront(along, x->size());
  if (!axis) return;
  const bool one_sided = node.Int("onesided", 0) != 0;
  const bool inverse = node.Int("inverse", 0) != 0;
  Dims out = *x;
  if (length) out[*axis] = length->front();
  if (one_sided && !inverse) out[*axis] = out[*axis] / 2 + 1;
  out.back() = one_sided && inverse ? 1 : 2;
  node.Set(0, std::move(out));
}

void CenterCropPadShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto target = node.KnownInts(1);
  if (x == nullptr || !target) return;
  Dims out = *x;
  const auto axes = node.Ints("axes");
  for (std::size_t i = 0; i < target->size(); ++i) {
    const auto axis =
        FromFront(axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i), x->size());
    if (!axis) return;
    out[*axis] = (*target)[i];
  }
  node.Set(0, std::move(out));
}

}  // namespace sharewell::graph::onnx
