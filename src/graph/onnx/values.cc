#include "graph/onnx/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace sharewell::graph::onnx {
namespace {

// TensorProto.DataType
enum ElementType : std::uint8_t {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

// Little-endian elements of the file as numbers of ours; the machines we run on are little-endian.
template <class Stored, class Number>
std::optional<Numbers> FromBytes(std::string_view bytes, std::size_t count) {
  if (bytes.size() < count * sizeof(Stored)) return std::nullopt;
  std::vector<Number> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = static_cast<Number>(stored);
  }
  return numbers;
}

double HalfToReal(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = std::numeric_limits<double>::max();
  return (half & 0x8000) != 0 ? -value : value;
}

std::optional<Numbers> FromRaw(const wire::TensorData& tensor, std::size_t count) {
  switch (tensor.element_type) {
    case kFloat32:
      return FromBytes<float, double>(tensor.raw, count);
    case kFloat64:
      return FromBytes<double, double>(tensor.raw, count);
    case kInt64:
    case kUint64:
      return FromBytes<std::int64_t, std::int64_t>(tensor.raw, count);
    case kInt32:
      return FromBytes<std::int32_t, std::int64_t>(tensor.raw, count);
    case kUint32:
      return FromBytes<std::uint32_t, std::int64_t>(tensor.raw, count);
    case kInt16:
      return FromBytes<std::int16_t, std::int64_t>(tensor.raw, count);
    case kUint16:
      return FromBytes<std::uint16_t, std::int64_t>(tensor.raw, count);
    case kInt8:
    case kUint8:
    case kBool: {
      auto bytes = FromBytes<std::uint8_t, std::int64_t>(tensor.raw, count);
      if (!bytes || tensor.element_type != kInt8) return bytes;
      for (std::int64_t& byte : std::get<0>(*bytes)) byte -= byte >= 128 ? 256 : 0;
      return bytes;
    }
    case kFloat16: {
      auto bits = FromBytes<std::uint16_t, std::int64_t>(tensor.raw, count);
      if (!bits) return std::nullopt;
      std::vector<double> reals;
      for (const std::int64_t half : std::get<0>(*bits)) {
        reals.push_back(HalfToReal(static_cast<std::uint16_t>(half)));
      }
      return reals;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::size_t CountOf(const Numbers& numbers) {
  return std::visit([](const auto& list) { return list.size(); }, numbers);
}

bool IsReal(const Numbers& numbers) { return numbers.index() == 1; }

std::vector<std::int64_t> Integers(const Numbers& numbers) {
  if (const auto* integers = std::get_if<0>(&numbers)) return *integers;
  constexpr double kLimit = 9.2e18;
  std::vector<std::int64_t> integers;
  for (const double real : std::get<1>(numbers)) {
    const double bounded = std::isnan(real) ? 0 : std::clamp(real, -kLimit, kLimit);
    integers.push_back(static_cast<std::int64_t>(bounded));
  }
  return integers;
}

std::vector<double> Reals(const Numbers& numbers) {
  if (const auto* reals = std::get_if<1>(&numbers)) return *reals;
  const auto& integers = std::get<0>(numbers);
  return {integers.begin(), integers.end()};
}

Numbers Picked(const Numbers& numbers, std::span<const std::size_t> places) {
  return std::visit(
      [&](const auto& list) -> Numbers {
        std::decay_t<decltype(list)> picked;
        picked.reserve(places.size());
        for (const std::size_t place : places) picked.push_back(list[place]);
        return picked;
      },
      numbers);
}

DType TypeOf(int element_type) {
  switch (element_type) {
    case kFloat32:
      return DType::kFloat;
    case kFloat16:
    case kBfloat16:
      return DType::kHalf;
    case kFloat64:
      return DType::kDouble;
    case kInt64:
    case kUint64:
      return DType::kInt64;
    case kInt32:
    case kUint32:
    case kInt16:
    case kUint16:
      return DType::kInt32;
    case kUint8:
    case kInt8:
    case kBool:
    case 17:  // the four float8 types, and the two of four bits
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
      return DType::kByte;
    default:
      return DType::kUnknown;
  }
}

bool IsFloat(DType type) {
  return type == DType::kFloat || type == DType::kHalf || type == DType::kDouble;
}

std::optional<std::size_t> CountWithin(std::span<const std::int64_t> dims, std::size_t most) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) return 0;
    if (static_cast<std::size_t>(dim) > most / count) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
  }
  return count;
}

std::optional<Numbers> NumbersOf(const wire::TensorData& tensor) {
  if (tensor.elsewhere) return std::nullopt;
  const auto count = CountWithin(tensor.dims, wire::kMostNumbers);
  if (!count) return std::nullopt;
  // Float vectors are weights; what shapes hang on (scales, sizes) is at most one number an axis.
  const DType type = TypeOf(tensor.element_type);
  if (IsFloat(type) && *count > 2 * kMostDims) return std::nullopt;
  if (!tensor.raw.empty()) return FromRaw(tensor, *count);
  if (!tensor.floats.empty()) return FromBytes<float, double>(tensor.floats, *count);
  if (!tensor.doubles.empty()) return FromBytes<double, double>(tensor.doubles, *count);
  if (IsFloat(type) && *count > 0) return std::nullopt;
  const std::string_view packed = tensor.int64s.empty() ? tensor.int32s : tensor.int64s;
  auto integers = packed.empty() ? tensor.loose : wire::PackedVarints(packed, *count);
  if (integers.size() < *count) return std::nullopt;
  integers.resize(*count);
  if (IsFloat(type)) return std::vector<double>();
  return integers;
}

}  // namespace sharewell::graph::onnx
