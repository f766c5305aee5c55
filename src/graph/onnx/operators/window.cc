#include "graph/onnx/operators/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sharewell::graph::onnx {
namespace {

// Attributes beyond this are absurd, and products of two of them still fit.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 30;

struct Window {
  Dims kernel, strides, dilations, pads;  // pads: all begins, then all ends
  std::string_view auto_pad;
};

// The window over `space` dimensions; none when an attribute has the wrong length or value.
std::optional<Window> WindowOf(const Node& node, Dims kernel) {
  const std::size_t space = kernel.size();
  const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    auto ints = node.Ints(name);
    return ints && !ints->empty() ? *std::move(ints) : Dims(count, otherwise);
  };
  Window window{std::move(kernel), list("strides", space, 1), list("dilations", space, 1),
                list("pads", 2 * space, 0), node.Text("auto_pad", "NOTSET")};
  const auto sane = [](const Dims& dims, std::size_t count, std::int64_t least) {
    return dims.size() == count && std::all_of(dims.begin(), dims.end(), [&](std::int64_t dim) {
             return dim >= least && dim <= kLargestStep;
           });
  };
  if (!sane(window.kernel, space, 1) || !sane(window.strides, space, 1) ||
      !sane(window.dilations, space, 1) || !sane(window.pads, 2 * space, -kLargestStep)) {
    return std::nullopt;
  }
  return window;
}

// How many places the window takes along axis `i` of size `in`.
std::int64_t PlacesAlong(const Window& window, std::size_t i, std::int64_t in, bool ceil) {
  const std::int64_t stride = window.strides[i];
  if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") {
    return (in + stride - 1) / stride;
  }
  const bool padded = window.auto_pad != "VALID";
  const std::int64_t before = padded ? window.pads[i] : 0;
  const std::int64_t after = padded ? window.pads[i + window.kernel.size()] : 0;
  const std::int64_t reach = window.dilations[i] * (window.kernel[i] - 1) + 1;
  const std::int64_t room = in + before + after - reach;
  if (room < 0) return -1;
  std::int64_t places = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  // PyTorch's rule: a window that would begin in the padding behind is left out.
  if (ceil && (places - 1) * stride >= in + before) --places;
  return places;
}

std::size_t WeightInput(const Node& node) { return node.type().substr(0, 7) == "QLinear" ? 3 : 1; }

// Spatial elements of the window: of the attribute, or of the weight behind its first two dims.
std::optional<Dims> KernelOf(const Node& node, const Dims& weight) {
  auto kernel = node.Ints("kernel_shape");
  if (kernel && !kernel->empty()) return kernel;
  if (weight.size() < 3) return std::nullopt;
  return Dims(weight.begin() + 2, weight.end());
}

double Product(const Dims& dims, std::size_t from = 0) {
  double product = 1;
  for (std::size_t i = from; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

// The window's elements as the IR keeps them; absurd ones saturate.
std::int64_t WindowSize(const Dims& dims, std::size_t from) {
  return static_cast<std::int64_t>(std::min(Product(dims, from), 1e15));
}

// The largest over the axes; nearly every model has one for all.
std::int64_t DilationOf(const Node& node) {
  std::int64_t most = 1;
  for (const std::int64_t step : node.Ints("dilations").value_or(Dims())) {
    most = std::clamp(step, most, kLargestStep);
  }
  return most;
}

DType WindowType(const Node& node) {
  if (node.type() == "ConvInteger") return DType::kInt32;
  return node.Type(0);
}

}  // namespace

void ConvShape(Node& node) {
  node.SetType(0, WindowType(node));
  const Dims* x = node.Shape(0);
  const Dims* weight = node.Shape(WeightInput(node));
  if (x == nullptr || weight == nullptr) return;
  if (x->size() < 3 || weight->size() != x->size()) {
    return node.Clash(
        fmt::format("its input {} and weight {} do not fit", TextOf(*x), TextOf(*weight)));
  }
  const std::int64_t groups = node.Int("group", 1);
  if (groups < 1 || groups > kLargestStep || (*weight)[1] > kLargestDim / groups ||
      (*weight)[1] * groups != (*x)[1]) {
    return node.Clash(fmt::format("its input has {} channels, its weight {} times {} groups",
                                  (*x)[1], (*weight)[1], groups));
  }
  auto kernel = KernelOf(node, *weight);
  if (!kernel || kernel->size() != x->size() - 2) return;
  const auto window = WindowOf(node, *std::move(kernel));
  if (!window) return node.Clash("its kernel, strides, dilations or pads make no window");
  Dims out = {(*x)[0], (*weight)[0]};
  for (std::size_t i = 0; i + 2 < x->size(); ++i) {
    out.push_back(PlacesAlong(*window, i, (*x)[i + 2], false));
    if (out.back() < 0) return node.Clash("its window is larger than its input");
  }
  node.Set(0, std::move(out), WindowType(node));
}

void ConvWork(const Node& node, Op& op) {
  const Dims* out = node.Result(0);
  const Dims* weight = node.Shape(WeightInput(node));
  if (out == nullptr || weight == nullptr) return;
  op.macs = Product(*out) * Product(*weight, 1);
  op.groups = std::max<std::int64_t>(node.Int("group", 1), 1);
  op.kernel = WindowSize(*weight, 2);
  op.dilation = DilationOf(node);
}

void DeconvShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* weight = node.Shape(1);
  if (x == nullptr || weight == nullptr) return;
  const std::int64_t groups = node.Int("group", 1);
  if (x->size() < 3 || weight->size() != x->size() || (*x)[1] != (*weight)[0] || groups < 1 ||
      groups > kLargestStep) {
    return node.Clash(
        fmt::format("its input {} and weight {} do not fit", TextOf(*x), TextOf(*weight)));
  }
  auto kernel = KernelOf(node, *weight);
  if (!kernel || kernel->size() != x->size() - 2) return;
  const auto window = WindowOf(node, *std::move(kernel));
  if (!window) return node.Clash("its kernel, strides, dilations or pads make no window");
  const std::size_t space = window->kernel.size();
  const auto asked = node.Ints("output_shape");
  auto extra = node.Ints("output_padding");
  if (!extra || extra->size() != space) extra = Dims(space, 0);
  Dims out = {(*x)[0], (*weight)[1] > kLargestDim / groups ? -1 : (*weight)[1] * groups};
  for (std::size_t i = 0; i < space; ++i) {
    const std::int64_t in = (*x)[i + 2];
    const std::int64_t stride = window->strides[i];
    const std::int64_t reach = window->dilations[i] * (window->kernel[i] - 1) + 1;
    if (asked && asked->size() >= space) {
      out.push_back((*asked)[asked->size() - space + i]);
    } else if (window->auto_pad == "SAME_UPPER" || window->auto_pad == "SAME_LOWER") {
      out.push_back(in > kLargestDim / stride ? -1 : in * stride);
    } else {
      const bool padded = window->auto_pad != "VALID";
      const std::int64_t pads = padded ? window->pads[i] + window->pads[i + space] : 0;
      const std::int64_t spread = in > kLargestDim / stride ? kLargestDim : stride * (in - 1);
      if ((*extra)[i] < 0 || (*extra)[i] > kLargestStep) return;
      out.push_back(spread + (*extra)[i] + reach - pads);
    }
  }
  node.Set(0, std::move(out));
}

void DeconvWork(const Node& node, Op& op) {
  const Dims* x = node.Shape(0);
  const Dims* weight = node.Shape(1);
  if (x == nullptr || weight == nullptr) return;
  op.macs = Product(*x) * Product(*weight, 1);
  op.groups = std::max<std::int64_t>(node.Int("group", 1), 1);
  op.kernel = WindowSize(*weight, 2);
  op.dilation = DilationOf(node);
}

void PoolShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  auto kernel = node.Ints("kernel_shape");
  if (x == nullptr || !kernel) return;
  if (x->size() < 3 || kernel->size() != x->size() - 2) {
    return node.Clash(
        fmt::format("its window has {} axes, its input is {}", kernel->size(), TextOf(*x)));
  }
  const auto window = WindowOf(node, *std::move(kernel));
  if (!window) return node.Clash("its kernel, strides, dilations or pads make no window");
  const bool ceil = node.Int("ceil_mode", 0) != 0;
  Dims out = {(*x)[0], (*x)[1]};
  for (std::size_t i = 0; i + 2 < x->size(); ++i) {
    out.push_back(PlacesAlong(*window, i, (*x)[i + 2], ceil));
    if (out.back() < 0) return node.Clash("its window is larger than its input");
  }
  node.Set(1, out, DType::kInt64);
  node.Set(0, std::move(out));
}

void PoolWork(const Node& node, Op& op) {
  if (const auto kernel = node.Ints("kernel_shape")) op.kernel = WindowSize(*kernel, 0);
}

void GlobalPoolShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr || x->size() < 2) return;
  Dims out(x->size(), 1);
  out[0] = (*x)[0];
  out[1] = (*x)[1];
  node.Set(0, std::move(out));
}

void GlobalPoolWork(const Node& node, Op& op) {
  if (const Dims* x = node.Shape(0); x != nullptr && x->size() > 2) op.kernel = WindowSize(*x, 2);
}

void UnpoolShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (auto asked = node.KnownInts(2)) return node.Set(0, *std::move(asked));
  auto kernel = node.Ints("kernel_shape");
  if (x == nullptr || !kernel || x->size() != kernel->size() + 2) return;
  const auto window = WindowOf(node, *std::move(kernel));
  if (!window) return;
  Dims out = {(*x)[0], (*x)[1]};
  for (std::size_t i = 0; i < window->kernel.size(); ++i) {
    const std::int64_t in = std::min((*x)[i + 2], kLargestStep);
    out.push_back((in - 1) * window->strides[i] + window->kernel[i] - window->pads[i] -
                  window->pads[i + window->kernel.size()]);
  }
  node.Set(0, std::move(out));
}

void RoiShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* rois = node.Shape(1);
  if (x == nullptr || rois == nullptr || x->size() != 4 || rois->empty()) return;
  auto pooled = node.Ints("pooled_shape").value_or(Dims());
  if (pooled.size() != 2) pooled = {node.Int("output_height", 1), node.Int("output_width", 1)};
  node.Set(0, {(*rois)[0], (*x)[1], pooled[0], pooled[1]});
}

void ResizeShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  if (x == nullptr) return;
  // Resize-11: x, roi, scales, sizes. Resize-10 and Upsample-9: x, scales. Upsample-7: attribute.
  const bool old = node.type() == "Upsample" || node.inputs.size() == 2;
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : node.Ints("axes").value_or(Dims())) {
    const auto at = FromFront(axis, x->size());
    if (!at) return node.Clash(fmt::format("it resizes an axis that {} has not", TextOf(*x)));
    axes.push_back(*at);
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < x->size(); ++i) axes.push_back(i);
  }
  Dims out = *x;
  const Numbers* sizes = old ? nullptr : node.Known(3);
  if (sizes != nullptr && CountOf(*sizes) == axes.size()) {
    const Dims asked = Integers(*sizes);
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = asked[i];
    const auto policy = node.Text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") {
      double scale = policy == "not_larger" ? 1e18 : 0;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const double ratio = static_cast<double>(asked[i]) /
                             static_cast<double>(std::max<std::int64_t>((*x)[axes[i]], 1));
        scale = policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
      }
      for (const std::size_t axis : axes) {
        const double size = std::round(scale * static_cast<double>((*x)[axis]));
        if (!(size >= 0 && size < 1e12)) return;
        out[axis] = static_cast<std::int64_t>(size);
      }
    }
    return node.Set(0, std::move(out));
  }
  std::vector<double> scales;
  if (const Numbers* known = node.Known(old ? 1 : 2)) {
    scales = Reals(*known);
  } else if (const auto attribute = node.Get("scales")) {
    scales.assign(attribute->reals.begin(), attribute->reals.end());
  }
  if (scales.size() != axes.size()) return;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    // Scales are floats: 1.9999999 of 7 must not lose a row.
    const double size = std::floor(static_cast<double>((*x)[axes[i]]) * scales[i] + 1e-4);
    if (!(size >= 0 && size < 1e12)) return;
    out[axes[i]] = static_cast<std::int64_t>(size);
  }
  node.Set(0, std::move(out));
}

void GridSampleShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* grid = node.Shape(1);
  if (x == nullptr || grid == nullptr || x->size() < 3 || grid->size() != x->size()) return;
  Dims out = {(*x)[0], (*x)[1]};
  out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
  node.Set(0, std::move(out));
}

void AffineGridShape(Node& node) {
  node.SetType(0, node.Type(0));
  const auto size = node.KnownInts(1);
  if (!size || size->size() < 4) return;
  Dims out = {(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(static_cast<std::int64_t>(size->size()) - 2);
  node.Set(0, std::move(out));
}

void DepthToSpaceShape(Node& node) {
  const Dims* x = node.Shape(0);
  const std::int64_t block = node.Int("blocksize", 1);
  if (x == nullptr || x->size() != 4 || block < 1 || block > 65536) return;
  node.Set(0, {(*x)[0], (*x)[1] / (block * block), (*x)[2] * block, (*x)[3] * block});
}

void SpaceToDepthShape(Node& node) {
  const Dims* x = node.Shape(0);
  const std::int64_t block = node.Int("blocksize", 1);
  if (x == nullptr || x->size() != 4 || block < 1 || block > 1024) return;
  node.Set(0, {(*x)[0], (*x)[1] * block * block, (*x)[2] / block, (*x)[3] / block});
}

void Col2ImShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const auto image = node.KnownInts(1);
  const auto block = node.KnownInts(2);
  if (x == nullptr || x->size() != 3 || !image || !block) return;
  const auto size = CountWithin(*block, 1 << 20);
  if (!size || *size == 0) return;
  Dims out = {(*x)[0], (*x)[1] / static_cast<std::int64_t>(*size)};
  out.insert(out.end(), image->begin(), image->end());
  node.Set(0, std::move(out));
}

}  // namespace sharewell::graph::onnx
