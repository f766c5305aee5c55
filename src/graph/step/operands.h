// Operands of told operators, as lowering looks at them. Private to step/.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "graph/pt2/aten.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

inline constexpr double kMostMacs = 1e30;  // far beyond any machine, and far from infinity

bool IsHalf(ToldType type);
// The tensor there; null where there is none, or a list.
const ToldTensor* TensorAt(const std::vector<ToldOperand>& operands, std::size_t i);
ToldTensor FirstOf(const ToldOperator& op);

// A copy that changes nothing but where it lies.
bool IsArrival(const ToldOperator& op);

bool IsProduct(pt2::Rule rule);

// Batch and the three sizes, rising: what one pass contracts the other does not, so the products of
// a layer's forward and backward pass have the same key.
using ProductKey = std::tuple<double, double, double, double>;

struct ToldProduct {
  const ToldTensor *a = nullptr, *b = nullptr, *added = nullptr, *out = nullptr;
  double macs = 0;
  ProductKey key;
};
std::optional<ToldProduct> ProductOf(const ToldOperator& op, pt2::Rule rule);

}  // namespace sharewell::graph
