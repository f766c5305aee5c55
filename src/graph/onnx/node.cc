#include "graph/onnx/node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace sharewell::graph::onnx {

std::optional<wire::AttributeValue> Node::Get(std::string_view name) const {
  for (const wire::Attribute& attribute : wire_.attributes) {
    if (attribute.name == name) return wire::ReadAttribute(attribute.bytes);
  }
  return std::nullopt;
}

bool Node::Has(std::string_view name) const {
  return std::any_of(wire_.attributes.begin(), wire_.attributes.end(),
                     [&](const wire::Attribute& attribute) { return attribute.name == name; });
}

std::int64_t Node::Int(std::string_view name, std::int64_t otherwise) const {
  const auto value = Get(name);
  return value ? value->integer.value_or(otherwise) : otherwise;
}

double Node::Real(std::string_view name, double otherwise) const {
  const auto value = Get(name);
  return value && value->real ? static_cast<double>(*value->real) : otherwise;
}

std::string_view Node::Text(std::string_view name, std::string_view otherwise) const {
  const auto value = Get(name);
  return value && !value->text.empty() ? value->text : otherwise;
}

std::optional<Dims> Node::Ints(std::string_view name) const {
  auto value = Get(name);
  if (!value) return std::nullopt;
  return std::move(value->integers);
}

const Dims* Node::Shape(std::size_t i) const {
  if (!HasInput(i)) return nullptr;
  const auto& dims = values_.tensors[static_cast<std::size_t>(inputs[i])].dims;
  return dims ? &*dims : nullptr;
}

const Fact* Node::FactOf(std::size_t i) const {
  return HasInput(i) ? &values_.facts[static_cast<std::size_t>(inputs[i])] : nullptr;
}

const Numbers* Node::Known(std::size_t i) const {
  const Fact* fact = FactOf(i);
  return fact != nullptr && fact->numbers ? &*fact->numbers : nullptr;
}

DType Node::Type(std::size_t i) const {
  return HasInput(i) ? values_.tensors[static_cast<std::size_t>(inputs[i])].dtype : DType::kUnknown;
}

std::optional<Dims> Node::KnownInts(std::size_t i) const {
  const Numbers* numbers = Known(i);
  if (numbers == nullptr) return std::nullopt;
  return Integers(*numbers);
}

std::optional<Dims> Node::IntsAt(std::size_t i, std::string_view attribute) const {
  return HasInput(i) ? KnownInts(i) : Ints(attribute);
}

void Node::Set(std::size_t output, Dims dims, DType type) {
  SetType(output, type);
  if (!HasOutput(output) || dims.size() > kMostDims) return;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kLargestDim) return;
  }
  values_.tensors[static_cast<std::size_t>(outputs[output])].dims = std::move(dims);
}

void Node::SetType(std::size_t output, DType type) {
  if (HasOutput(output)) values_.tensors[static_cast<std::size_t>(outputs[output])].dtype = type;
}

const Dims* Node::Result(std::size_t output) const {
  if (!HasOutput(output)) return nullptr;
  const auto& dims = values_.tensors[static_cast<std::size_t>(outputs[output])].dims;
  return dims ? &*dims : nullptr;
}

void Node::Know(std::size_t output, Numbers numbers) {
  if (!HasOutput(output)) return;
  const Dims* dims = Result(output);
  // Numbers and shape must agree; when they do not, the numbers are the doubtful ones.
  if (dims == nullptr || CountWithin(*dims, wire::kMostNumbers) != CountOf(numbers)) return;
  values_.facts[static_cast<std::size_t>(outputs[output])].numbers = std::move(numbers);
}

void Node::Clash(std::string why) {
  if (clash_.empty()) clash_ = std::move(why);
}

std::optional<std::size_t> FromFront(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::string TextOf(const Dims& dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

}  // namespace sharewell::graph::onnx
