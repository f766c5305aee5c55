#include "graph/builder.h"

#include <algorithm>
#include <utility>

namespace sharewell::graph {
namespace {

double ProductOf(const Dims& dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

// The largest over the axes.
std::int64_t DilationOf(const ConvShape& shape) {
  std::int64_t most = 1;
  for (const std::int64_t step : shape.dilation) most = std::max(most, step);
  return most;
}

std::int64_t WholeProductOf(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

Dims WithLast(Dims dims, std::int64_t last) {
  dims.back() = last;
  return dims;
}

}  // namespace

std::int64_t WindowSteps(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t dilation) {
  const std::int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

Builder::Builder(std::string format, std::int64_t batch) {
  graph_.format = std::move(format);
  graph_.batch = batch;
}

TensorId Builder::NewTensor(std::string name, Dims dims, DType dtype, Role role) {
  graph_.tensors.push_back(
      {.name = std::move(name), .dtype = dtype, .role = role, .dims = std::move(dims)});
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

Op& Builder::NewOp(Kind kind, std::string_view type, const std::string& name,
                   std::vector<TensorId> inputs, Dims out) {
  Op op;
  op.kind = kind;
  op.type = type;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs.push_back(NewTensor(name, std::move(out), DType::kFloat, Role::kActivation));
  graph_.ops.push_back(std::move(op));
  return graph_.ops.back();
}

TensorId Builder::Input(std::string name, Dims dims, DType dtype) {
  graph_.inputs.push_back(NewTensor(std::move(name), std::move(dims), dtype, Role::kInput));
  return graph_.inputs.back();
}

TensorId Builder::Weight(std::string name, Dims dims) {
  return NewTensor(std::move(name), std::move(dims), DType::kFloat, Role::kWeight);
}

TensorId Builder::Constant(std::string name, Dims dims, DType dtype) {
  return NewTensor(std::move(name), std::move(dims), dtype, Role::kConstant);
}

TensorId Builder::Linear(TensorId x, std::int64_t out, bool bias, const std::string& name) {
  const TensorId weight = Weight(name + ".weight", {out, dims(x).back()});
  return LinearWith(x, weight, bias ? Weight(name + ".bias", {out}) : kAbsent, name);
}

TensorId Builder::LinearWith(TensorId x, TensorId weight, TensorId bias, const std::string& name) {
  const Dims shape = dims(weight);
  std::vector<TensorId> inputs = {x, weight};
  if (bias != kAbsent) inputs.push_back(bias);
  Dims out = WithLast(dims(x), shape[0]);
  const double macs = ProductOf(out) * static_cast<double>(shape[1]);
  Op& op = NewOp(Kind::kMatMul, "Linear", name, std::move(inputs), std::move(out));
  op.macs = macs;
  return op.outputs[0];
}

TensorId Builder::Product(TensorId a, TensorId b, Dims out, double macs, const std::string& name) {
  Op& op = NewOp(Kind::kMatMul, "MatMul", name, {a, b}, std::move(out));
  op.macs = macs;
  return op.outputs[0];
}

TensorId Builder::Conv(TensorId x, const ConvShape& shape, const std::string& name) {
  const Dims in = dims(x);
  Dims weight = {shape.out, in[1] / shape.groups};
  weight.insert(weight.end(), shape.kernel.begin(), shape.kernel.end());
  Dims out = {in[0], shape.out};
  for (std::size_t i = 0; i < shape.kernel.size(); ++i) {
    out.push_back(WindowSteps(in[i + 2], shape.kernel[i], shape.stride[i], shape.padding[i],
                              shape.dilation[i]));
  }
  const double macs = ProductOf(out) * ProductOf(weight) / static_cast<double>(shape.out);
  std::vector<TensorId> inputs = {x, Weight(name + ".weight", std::move(weight))};
  if (shape.bias) inputs.push_back(Weight(name + ".bias", {shape.out}));
  Op& op = NewOp(Kind::kConv, "Conv", name, std::move(inputs), std::move(out));
  op.macs = macs;
  op.groups = shape.groups;
  op.kernel = WholeProductOf(shape.kernel);
  op.dilation = DilationOf(shape);
  return op.outputs[0];
}

TensorId Builder::Deconv(TensorId x, const ConvShape& shape, const std::string& name) {
  const Dims in = dims(x);
  Dims weight = {in[1], shape.out / shape.groups};
  weight.insert(weight.end(), shape.kernel.begin(), shape.kernel.end());
  Dims out = {in[0], shape.out};
  for (std::size_t i = 0; i < shape.kernel.size(); ++i) {
    out.push_back((in[i + 2] - 1) * shape.stride[i] - 2 * shape.padding[i] +
                  shape.dilation[i] * (shape.kernel[i] - 1) + 1);
  }
  const double macs = ProductOf(in) * ProductOf(weight) / static_cast<double>(in[1]);
  std::vector<TensorId> inputs = {x, Weight(name + ".weight", std::move(weight))};
  if (shape.bias) inputs.push_back(Weight(name + ".bias", {shape.out}));
  Op& op = NewOp(Kind::kDeconv, "ConvTranspose", name, std::move(inputs), std::move(out));
  op.macs = macs;
  op.groups = shape.groups;
  op.kernel = WholeProductOf(shape.kernel);
  op.dilation = DilationOf(shape);
  return op.outputs[0];
}

TensorId Builder::Embedding(TensorId ids, std::int64_t rows, std::int64_t width,
                            const std::string& name) {
  return LookUp(ids, Weight(name + ".weight", {rows, width}), name);
}

TensorId Builder::LookUp(TensorId ids, TensorId table, const std::string& name) {
  Dims out = dims(ids);
  out.push_back(dims(table).back());
  return NewOp(Kind::kEmbedding, "Embedding", name, {table, ids}, std::move(out)).outputs[0];
}

TensorId Builder::Attention(TensorId q, TensorId k, TensorId v, std::int64_t heads,
                            std::int64_t kv_heads, std::int64_t seen, const std::string& name,
                            TensorId mask) {
  const Dims queries = dims(q);
  const double macs = 2 * ElementsOf(q) * static_cast<double>(seen);
  const auto by_head = [&](TensorId x, std::int64_t count) {
    const Dims flat = dims(x);
    return Apply(Kind::kView, "Heads", {x}, {flat[0], count, flat[1], flat[2] / count}, name);
  };
  const TensorId q4 = by_head(q, heads);
  const TensorId k4 = by_head(k, kv_heads);
  const TensorId v4 = by_head(v, kv_heads);
  std::vector<TensorId> inputs = {q4, k4, v4};
  if (mask != kAbsent) inputs.push_back(mask);
  Op& op = NewOp(Kind::kAttention, "Attention", name, std::move(inputs), dims(q4));
  op.macs = macs;
  return Apply(Kind::kView, "Tokens", {op.outputs[0]}, queries, name);
}

std::vector<TensorId> Builder::Split(TensorId x, std::int64_t count, const std::string& name) {
  const Dims part = WithLast(dims(x), dims(x).back() / count);
  const Op& op = NewOp(Kind::kView, "Split", name, {x}, part);
  std::vector<TensorId> parts = op.outputs;
  for (std::int64_t i = 1; i < count; ++i) {
    parts.push_back(NewTensor(name, part, DType::kFloat, Role::kActivation));
  }
  graph_.ops.back().outputs = parts;
  return parts;
}

TensorId Builder::Recurrent(TensorId x, std::int64_t hidden, std::int64_t gates,
                            bool both_directions, std::string_view type, const std::string& name) {
  const Dims in = dims(x);
  std::vector<TensorId> inputs = {x};
  double weights = 0;
  for (int direction = 0; direction < (both_directions ? 2 : 1); ++direction) {
    const std::string suffix = direction == 0 ? "" : "_reverse";
    inputs.push_back(Weight(name + ".weight_ih" + suffix, {gates * hidden, in.back()}));
    inputs.push_back(Weight(name + ".weight_hh" + suffix, {gates * hidden, hidden}));
    weights += ElementsOf(inputs[inputs.size() - 2]) + ElementsOf(inputs.back());
    inputs.push_back(Weight(name + ".bias_ih" + suffix, {gates * hidden}));
    inputs.push_back(Weight(name + ".bias_hh" + suffix, {gates * hidden}));
  }
  Dims out = WithLast(in, both_directions ? 2 * hidden : hidden);
  Op& op = NewOp(Kind::kRecurrent, type, name, std::move(inputs), std::move(out));
  op.macs = weights * static_cast<double>(in[0]) * static_cast<double>(in[1]);
  op.steps = in[1];
  return op.outputs[0];
}

TensorId Builder::Norm(TensorId x, std::string_view type, std::int64_t width, Affine affine,
                       bool statistics, const std::string& name) {
  std::vector<TensorId> inputs = {x};
  if (affine != Affine::kNone) inputs.push_back(Weight(name + ".weight", {width}));
  if (affine == Affine::kScaleAndShift) inputs.push_back(Weight(name + ".bias", {width}));
  if (statistics) {
    inputs.push_back(Constant(name + ".running_mean", {width}));
    inputs.push_back(Constant(name + ".running_var", {width}));
  }
  return NewOp(Kind::kNorm, type, name, std::move(inputs), dims(x)).outputs[0];
}

TensorId Builder::Apply(Kind kind, std::string_view type, std::vector<TensorId> inputs, Dims dims,
                        const std::string& name) {
  return NewOp(kind, type, name, std::move(inputs), std::move(dims)).outputs[0];
}

TensorId Builder::Pool(TensorId x, std::string_view type, std::int64_t window, Dims dims,
                       const std::string& name) {
  Op& op = NewOp(Kind::kPool, type, name, {x}, std::move(dims));
  op.kernel = window;
  return op.outputs[0];
}

Graph Builder::Finish(std::vector<TensorId> outputs) && {
  graph_.outputs = std::move(outputs);
  return std::move(graph_);
}

}  // namespace sharewell::graph
