#include "graph/onnx/operators/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "graph/onnx/operators/layout.h"

namespace sharewell::graph::onnx {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

// Elements of the result, where its shape is known and small.
std::optional<std::size_t> ResultCount(const Node& node) {
  const Dims* out = node.Result(0);
  return out == nullptr ? std::nullopt : CountWithin(*out, wire::kMostNumbers);
}

// Row-major steps between neighbours along each axis.
Dims StridesOf(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// For each element of `out` in order: offset + sum of index * stride. REQUIRES: count elements.
std::vector<std::size_t> Walk(const Dims& out, const Dims& strides, std::int64_t offset,
                              std::size_t count) {
  std::vector<std::size_t> places;
  places.reserve(count);
  Dims index(out.size(), 0);
  std::int64_t place = offset;
  for (std::size_t n = 0; n < count; ++n) {
    places.push_back(static_cast<std::size_t>(place));
    for (std::size_t axis = out.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < out[axis]) break;
      place -= strides[axis] * out[axis];
      index[axis] = 0;
    }
  }
  return places;
}

// Places in an operand of shape `in` when it is stretched to `out`.
std::vector<std::size_t> StretchedPlaces(const Dims& in, const Dims& out, std::size_t count) {
  const Dims steps = StridesOf(in);
  Dims strides(out.size(), 0);
  const std::size_t shift = out.size() - in.size();
  for (std::size_t i = 0; i < in.size(); ++i) strides[i + shift] = in[i] == 1 ? 0 : steps[i];
  return Walk(out, strides, 0, count);
}

// Wrap-around like the machine's, without undefined behaviour.
std::int64_t Wrapped(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t Bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::optional<std::int64_t> Whole(std::string_view type, std::int64_t a, std::int64_t b) {
  if (type == "Add" || type == "Sum") return Wrapped(Bits(a) + Bits(b));
  if (type == "Sub") return Wrapped(Bits(a) - Bits(b));
  if (type == "Mul") return Wrapped(Bits(a) * Bits(b));
  if (type == "Div" || type == "Mod") {
    if (b == 0 || (a == kLeast && b == -1)) return std::nullopt;
    if (type == "Div") return a / b;
    const std::int64_t rest = a % b;  // the sign of the divisor, as in Python
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (type == "Pow") {
    const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
    if (!(std::abs(power) < 9e15)) return std::nullopt;
    return static_cast<std::int64_t>(power);
  }
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Equal") return a == b;
  if (type == "Less") return a < b;
  if (type == "LessOrEqual") return a <= b;
  if (type == "Greater") return a > b;
  if (type == "GreaterOrEqual") return a >= b;
  if (type == "And") return a != 0 && b != 0;
  if (type == "Or") return a != 0 || b != 0;
  if (type == "Xor") return (a != 0) != (b != 0);
  if (type == "BitwiseAnd") return Wrapped(Bits(a) & Bits(b));
  if (type == "BitwiseOr") return Wrapped(Bits(a) | Bits(b));
  return std::nullopt;
}

std::optional<double> Fraction(std::string_view type, double a, double b) {
  if (type == "Add" || type == "Sum") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (type == "Div") return a / b;
  if (type == "Mod") return std::fmod(a, b);
  if (type == "Pow") return std::pow(a, b);
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Equal") return a == b ? 1 : 0;
  if (type == "Less") return a < b ? 1 : 0;
  if (type == "LessOrEqual") return a <= b ? 1 : 0;
  if (type == "Greater") return a > b ? 1 : 0;
  if (type == "GreaterOrEqual") return a >= b ? 1 : 0;
  return std::nullopt;
}

// `next` joined to `all` element by element; false where it cannot be.
bool Join(std::string_view type, Numbers& all, const Numbers& next) {
  if (!IsReal(all) && !IsReal(next)) {
    auto& left = std::get<0>(all);
    const auto& right = std::get<0>(next);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto joined = Whole(type, left[i], right[i]);
      if (!joined) return false;
      left[i] = *joined;
    }
    return true;
  }
  std::vector<double> left = Reals(all);
  const std::vector<double> right = Reals(next);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto joined = Fraction(type, left[i], right[i]);
    if (!joined) return false;
    left[i] = *joined;
  }
  all = std::move(left);
  return true;
}

// Booleans and integers are integers here, whatever the arithmetic ran on.
Numbers AsTyped(Numbers numbers, DType type) {
  if (type == DType::kUnknown || IsFloat(type) == IsReal(numbers)) return numbers;
  if (IsFloat(type)) return Reals(numbers);
  return Integers(numbers);
}

DType ResultType(const Node& node) {
  const std::string_view type = node.type();
  const bool boolean = type == "Equal" || type == "Less" || type == "LessOrEqual" ||
                       type == "Greater" || type == "GreaterOrEqual";
  return boolean ? DType::kByte : node.Type(0);
}

}  // namespace

void FoldCopy(Node& node) {
  const Numbers* known = node.Known(0);
  const auto count = ResultCount(node);
  if (known == nullptr || !count || CountOf(*known) != *count) return;
  if (node.type() == "Cast") {
    const auto to = static_cast<int>(node.Int("to", 0));
    Numbers cast = AsTyped(*known, TypeOf(to));
    if (to == 9) {  // bool
      for (std::int64_t& number : std::get<0>(cast)) number = number != 0 ? 1 : 0;
    }
    return node.Know(0, std::move(cast));
  }
  node.Know(0, *known);
}

void FoldUnary(Node& node) {
  const Numbers* known = node.Known(0);
  if (known == nullptr) return;
  const std::string_view type = node.type();
  if (!IsReal(*known)) {
    auto numbers = std::get<0>(*known);
    for (std::int64_t& number : numbers) {
      if (type == "Neg") {
        number = Wrapped(0 - Bits(number));
      } else if (type == "Abs") {
        number = number < 0 ? Wrapped(0 - Bits(number)) : number;
      } else if (type == "Not") {
        number = number == 0 ? 1 : 0;
      } else if (type == "Sign") {
        number = (number > 0 ? 1 : 0) - (number < 0 ? 1 : 0);
      } else {
        return;
      }
    }
    return node.Know(0, std::move(numbers));
  }
  auto reals = std::get<1>(*known);
  for (double& real : reals) {
    if (type == "Neg") {
      real = -real;
    } else if (type == "Abs") {
      real = std::abs(real);
    } else if (type == "Floor") {
      real = std::floor(real);
    } else if (type == "Ceil") {
      real = std::ceil(real);
    } else if (type == "Round") {
      real = std::nearbyint(real);
    } else if (type == "Sqrt") {
      real = std::sqrt(real);
    } else if (type == "Reciprocal") {
      real = 1 / real;
    } else {
      return;
    }
  }
  node.Know(0, std::move(reals));
}

void FoldBinary(Node& node) {
  const auto count = ResultCount(node);
  if (!count) return;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.Known(i) == nullptr) return;
  }
  std::optional<Numbers> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Numbers next = Picked(*node.Known(i), StretchedPlaces(*node.Shape(i), *node.Result(0), *count));
    if (!all) {
      all = std::move(next);
    } else if (!Join(node.type(), *all, next)) {
      return;
    }
  }
  if (all) node.Know(0, AsTyped(*std::move(all), ResultType(node)));
}

void FoldWhere(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* condition = node.Known(0);
  if (!count || condition == nullptr || node.Known(1) == nullptr || node.Known(2) == nullptr) {
    return;
  }
  const Dims& out = *node.Result(0);
  const auto where = Integers(Picked(*condition, StretchedPlaces(*node.Shape(0), out, *count)));
  const auto yes = StretchedPlaces(*node.Shape(1), out, *count);
  const auto no = StretchedPlaces(*node.Shape(2), out, *count);
  if (IsReal(*node.Known(1)) != IsReal(*node.Known(2))) return;
  Numbers chosen = Picked(*node.Known(1), yes);
  const Numbers other = Picked(*node.Known(2), no);
  std::visit(
      [&](auto& list) {
        const auto& others = std::get<std::decay_t<decltype(list)>>(other);
        for (std::size_t i = 0; i < list.size(); ++i) {
          if (where[i] == 0) list[i] = others[i];
        }
      },
      chosen);
  node.Know(0, std::move(chosen));
}

void FoldGather(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  const auto indices = node.KnownInts(1);
  if (!count || known == nullptr || !indices) return;
  const Dims& x = *node.Shape(0);
  const auto axis = FromFront(node.Int("axis", 0), x.size());
  if (!axis) return;
  std::size_t inner = 1;
  for (std::size_t i = *axis + 1; i < x.size(); ++i) inner *= static_cast<std::size_t>(x[i]);
  const auto size = static_cast<std::size_t>(x[*axis]);
  if (size * inner == 0) return;
  const std::size_t outer = CountOf(*known) / (size * inner);
  std::vector<std::size_t> places;
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : *indices) {
      const auto at = FromFront(index, size);
      if (!at) return;
      for (std::size_t i = 0; i < inner; ++i) places.push_back((o * size + *at) * inner + i);
    }
  }
  node.Know(0, Picked(*known, places));
}

void FoldConcat(Node& node) {
  const auto count = ResultCount(node);
  if (!count || node.type() != "Concat") return;
  bool real = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.Known(i) == nullptr) return;
    real = real || IsReal(*node.Known(i));
  }
  const auto axis = FromFront(node.Int("axis", 1), node.Result(0)->size());
  if (!axis) return;
  std::size_t outer = 1;
  for (std::size_t i = 0; i < *axis; ++i) outer *= static_cast<std::size_t>((*node.Result(0))[i]);
  const auto join = [&](auto all, auto as) {
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const auto part = as(*node.Known(i));
        const std::size_t run = part.size() / std::max<std::size_t>(outer, 1);
        const auto from = part.begin() + static_cast<std::ptrdiff_t>(o * run);
        all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(run));
      }
    }
    node.Know(0, std::move(all));
  };
  // Joining row by row copies each part once for every row: only short results are worth it.
  if (outer * node.inputs.size() > wire::kMostNumbers) return;
  if (real) return join(std::vector<double>(), &Reals);
  join(std::vector<std::int64_t>(), &Integers);
}

void FoldSlice(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  const auto cuts = CutsOf(node);
  if (!count || known == nullptr || !cuts) return;
  if (*count == 0) return node.Know(0, Picked(*known, {}));
  const Dims steps = StridesOf(*node.Shape(0));
  Dims strides;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < cuts->size(); ++i) {
    // A stride that leads out of the tensor is never walked: there is one element along it.
    strides.push_back((*cuts)[i].count > 1 ? (*cuts)[i].step * steps[i] : 0);
    offset += (*cuts)[i].start * steps[i];
  }
  node.Know(0, Picked(*known, Walk(*node.Result(0), strides, offset, *count)));
}

void FoldSplit(Node& node) {
  const Numbers* known = node.Known(0);
  const auto parts = PartsOf(node);
  if (known == nullptr || !parts) return;
  const Dims& x = *node.Shape(0);
  const auto axis = FromFront(node.Int("axis", 0), x.size());
  if (!axis) return;
  const Dims strides = StridesOf(x);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Dims* out = node.Result(i);
    if (out == nullptr) return;
    const auto count = CountWithin(*out, wire::kMostNumbers);
    if (!count) return;
    node.Know(i, Picked(*known, Walk(*out, strides, start * strides[*axis], *count)));
    start += (*parts)[i];
  }
}

void FoldTranspose(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  if (!count || known == nullptr) return;
  const Dims steps = StridesOf(*node.Shape(0));
  const auto perm = node.Ints("perm");
  Dims strides(steps.rbegin(), steps.rend());
  if (perm && perm->size() == steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      strides[i] = steps[FromFront((*perm)[i], steps.size()).value_or(0)];
    }
  }
  node.Know(0, Picked(*known, Walk(*node.Result(0), strides, 0, *count)));
}

void FoldExpand(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  if (!count || known == nullptr) return;
  node.Know(0, Picked(*known, StretchedPlaces(*node.Shape(0), *node.Result(0), *count)));
}

void FoldTile(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  if (!count || known == nullptr) return;
  const Dims& x = *node.Shape(0);
  const Dims& out = *node.Result(0);
  const Dims steps = StridesOf(x);
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < *count; ++n) {
    auto rest = static_cast<std::int64_t>(n);
    std::int64_t place = 0;
    for (std::size_t axis = out.size(); axis-- > 0;) {
      place += rest % out[axis] % x[axis] * steps[axis];
      rest /= out[axis];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  node.Know(0, Picked(*known, places));
}

void FoldReduce(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  if (!count || known == nullptr || CountOf(*known) == 0 || *count == 0) return;
  // Over everything, or along the last axes: the common forms in shape arithmetic.
  const std::size_t run = CountOf(*known) / *count;
  if (*count > 1) return;
  const std::string_view type = node.type();
  const std::string_view join = type == "ReduceSum"    ? "Add"
                                : type == "ReduceProd" ? "Mul"
                                : type == "ReduceMax"  ? "Max"
                                : type == "ReduceMin"  ? "Min"
                                                       : "";
  if (join.empty()) return;
  Numbers all = Picked(*known, std::vector<std::size_t>{0});
  for (std::size_t i = 1; i < run; ++i) {
    if (!Join(join, all, Picked(*known, std::vector<std::size_t>{i}))) return;
  }
  node.Know(0, std::move(all));
}

void FoldCumSum(Node& node) {
  const auto count = ResultCount(node);
  const Numbers* known = node.Known(0);
  if (!count || known == nullptr || node.Shape(0)->size() != 1) return;
  if (node.Int("exclusive", 0) != 0 || node.Int("reverse", 0) != 0) return;
  Numbers sums = *known;
  std::visit(
      [](auto& list) {
        for (std::size_t i = 1; i < list.size(); ++i) {
          if constexpr (std::is_same_v<std::decay_t<decltype(list[0])>, std::int64_t>) {
            list[i] = Wrapped(Bits(list[i]) + Bits(list[i - 1]));
          } else {
            list[i] += list[i - 1];
          }
        }
      },
      sums);
  node.Know(0, std::move(sums));
}

void FoldScatterNd(Node& node) {
  const Numbers* known = node.Known(0);
  const auto indices = node.KnownInts(1);
  const Numbers* updates = node.Known(2);
  if (known == nullptr || !indices || updates == nullptr) return;
  const Dims& x = *node.Shape(0);
  const Dims& shape = *node.Shape(1);
  // Whole elements of a vector: how exporters patch one dimension of a shape.
  if (x.size() != 1 || shape.empty() || shape.back() != 1 || CountOf(*updates) != indices->size() ||
      IsReal(*updates) != IsReal(*known) || node.Has("reduction")) {
    return;
  }
  Numbers patched = *known;
  std::vector<std::size_t> places;
  for (const std::int64_t index : *indices) {
    const auto at = FromFront(index, CountOf(*known));
    if (!at) return;
    places.push_back(*at);
  }
  std::visit(
      [&](auto& list) {
        const auto& values = std::get<std::decay_t<decltype(list)>>(*updates);
        for (std::size_t i = 0; i < places.size(); ++i) list[places[i]] = values[i];
      },
      patched);
  node.Know(0, std::move(patched));
}

}  // namespace sharewell::graph::onnx
